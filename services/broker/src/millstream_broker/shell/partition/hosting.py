"""Keeps the hosted partitions in line with the metadata log: every batch of records becomes a plan and its execution.

Until the whole log is known nothing is touched; what was deleted meanwhile is remembered for the first plan. Making a log
waits for the disk a few times: many of them are made one by one, with requests served in between.
"""

import asyncio
from collections.abc import Sequence

from millstream_broker.config import BrokerConfig
from millstream_broker.core.hosting import Create, ReplicaKey, Step, Touched, plan_changes, plan_start
from millstream_broker.core.topic_settings import TopicSettings
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_cluster.configs import EffectiveConfigs
from millstream_cluster.image import Image
from millstream_cluster.records import MetadataRecord, ResourceType

MADE_AT_ONCE_MAX = 4
RETRY_FAILED_MS = 5_000


class Hosting:
    def __init__(self, config: BrokerConfig, partitions: HostedPartitions) -> None:
        self._config = config
        self._partitions = partitions
        self._to_make: dict[ReplicaKey, None] = {}
        self._wake = asyncio.Event()
        self._missed = Touched()
        self._image: Image | None = None

    @property
    def has_started(self) -> bool:
        return self._image is not None

    def on_records(self, image: Image, records: Sequence[MetadataRecord]) -> None:
        """Follow; a snapshot's image is a new object, and what it does not explain is set aside."""
        if self._image is None:
            self._missed.add(records)
            return
        if image is not self._image:
            self.start(image)
            return
        touched = Touched()
        touched.add(records)
        self._execute(plan_changes(touched, image, node_id=self._config.node_id, hosted=self._partitions.keys))
        for resource_type, name in touched.configs:
            if resource_type is ResourceType.TOPIC:
                self._partitions.configure([name], self.settings_of)
            elif resource_type is ResourceType.BROKER:
                self._partitions.configure(None, self.settings_of)

    def start(self, image: Image) -> None:
        """Bring everything in line with a whole image."""
        self._image = image
        deleted = self._missed.deleted_topics
        self._execute(plan_start(deleted, image, node_id=self._config.node_id, hosted=self._partitions.keys))
        self._partitions.configure(None, self.settings_of)
        self._missed = Touched()

    async def run(self) -> None:
        """Do what plans left for later: make logs, try again what failed."""
        while True:
            try:
                async with asyncio.timeout(RETRY_FAILED_MS / 1000):
                    await self._wake.wait()
            except TimeoutError:
                self._to_make.update(dict.fromkeys(self._partitions.failed))
            self._wake.clear()
            while self._to_make:
                self._make(next(iter(self._to_make)))
                await asyncio.sleep(0)

    def _execute(self, steps: Sequence[Step]) -> None:
        creates = [step for step in steps if isinstance(step, Create)]
        if len(creates) <= MADE_AT_ONCE_MAX:
            self._partitions.apply(steps, self.settings_of)
            return
        self._partitions.apply([step for step in steps if not isinstance(step, Create)], self.settings_of)
        self._to_make.update({(step.partition.topic_id, step.partition.partition): None for step in creates})
        self._wake.set()

    def _make(self, key: ReplicaKey) -> None:
        """Make one log, unless the metadata or another plan was faster."""
        del self._to_make[key]
        assert self._image is not None, "plans come from images"
        partition = self._image.partition(*key)
        if partition is not None and self._config.node_id in partition.replicas and key not in self._partitions.keys:
            self._partitions.apply([Create(partition)], self.settings_of)

    def settings_of(self, topic: str) -> TopicSettings:
        assert self._image is not None
        configs = EffectiveConfigs(self._image, self._config.properties, self._config.node_id)
        return TopicSettings.of(configs.topic_values(topic))
