"""Keeps the replicas in line with the metadata log: every batch of records becomes a plan and its execution.

Until the whole log is known nothing is touched; what was deleted meanwhile is remembered for the first plan.
"""

from collections.abc import Sequence

from millstream_broker.config import BrokerConfig
from millstream_broker.core.hosting import Create, Touched, plan_changes, plan_start
from millstream_broker.core.topic_settings import TopicSettings
from millstream_broker.shell.replicas import Replicas
from millstream_cluster.configs import EffectiveConfigs
from millstream_cluster.image import Image
from millstream_cluster.records import MetadataRecord, ResourceType


class Hosting:
    def __init__(self, config: BrokerConfig, replicas: Replicas) -> None:
        self._config = config
        self._replicas = replicas
        self._missed = Touched()
        self._image: Image | None = None

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
        steps = plan_changes(touched, image, node_id=self._config.node_id, hosted=self._replicas.keys)
        self._replicas.apply(steps, self.settings_of)
        for resource_type, name in touched.configs:
            if resource_type is ResourceType.TOPIC:
                self._replicas.configure([name], self.settings_of)
            elif resource_type is ResourceType.BROKER:
                self._replicas.configure(None, self.settings_of)

    def start(self, image: Image) -> None:
        """Bring everything in line with a whole image."""
        self._image = image
        steps = plan_start(self._missed.deleted_topics, image, node_id=self._config.node_id, hosted=self._replicas.keys)
        self._replicas.apply(steps, self.settings_of)
        self._replicas.configure(None, self.settings_of)
        self._missed = Touched()

    def retry_failed(self) -> None:
        """Try once more to make the directories that could not be made."""
        self._replicas.apply([Create(partition) for partition in self._replicas.failed], self.settings_of)

    def settings_of(self, topic: str) -> TopicSettings:
        assert self._image is not None
        configs = EffectiveConfigs(self._image, self._config.properties, self._config.node_id)
        return TopicSettings.of(configs.topic_values(topic))
