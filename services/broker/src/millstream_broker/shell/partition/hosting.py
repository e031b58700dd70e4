"""Keeps the hosted partitions in line with the metadata log: every batch of records becomes a plan and its execution.

Until an image is proven nothing is made, renamed or deleted; what was deleted meanwhile is remembered for the first plan. What
was applied is on the disk before a directory is made for it, and a partition serves only once the disk says that it is here
(`AppliedMetadata`): two notes for each batch, however many logs it makes. Making a log waits for the disk a few times: many of
them are made one by one, with requests served in between.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from uuid import UUID

from millstream_broker.config import BrokerConfig
from millstream_broker.core.hosting import (
    Create,
    MetadataDelta,
    ReplicaKey,
    Step,
    as_served,
    kept_from_leading,
    plan_changes,
    plan_shut_out,
    plan_start,
    plan_unproven,
    without_leading,
)
from millstream_broker.core.topic_settings import TopicSettings
from millstream_broker.shell.partition.applied_metadata import AppliedMetadata
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_broker.shell.partition.spare_room import SpareRoom
from millstream_cluster.configs import EffectiveConfigs
from millstream_cluster.ids import LOST_DIRECTORY, UNOPENED_DIRECTORY, NodeId
from millstream_cluster.image import Image
from millstream_cluster.members import Node, Partition
from millstream_cluster.metadata_version import MetadataVersion
from millstream_cluster.records import MetadataRecord, ResourceType
from millstream_log import DataDir, TopicPartition
from millstream_runtime.nodes.follower import Applied

logger = logging.getLogger(__name__)

MADE_AT_ONCE_MAX = 4
MADE_TOGETHER_MAX = 256
"""How many logs are made between two notes: none of them serves before the second."""
RETRY_FAILED_MS = 5_000


class Hosting:
    """Invariant: `_proven` never turns false; before it is true no file of a partition is made, renamed or deleted."""

    def __init__(
        self, config: BrokerConfig, partitions: HostedPartitions, applied: AppliedMetadata, room: SpareRoom
    ) -> None:
        self._config = config
        self._partitions = partitions
        self._applied = applied
        self._room = room
        self._to_make: dict[ReplicaKey, None] = {}
        self._wake = asyncio.Event()
        self._missed = MetadataDelta()
        self._image: Image | None = None
        self._proven = False
        self._told_fenced_after = -1
        """The latest fencing that the image knew of when the controller said that there is a later one."""
        self._noting_fails = False

    @property
    def serves(self) -> bool:
        """Whether the metadata is known, proven or not."""
        return self._image is not None

    @property
    def settled_offset(self) -> int:
        """Up to where this broker has done what the metadata asks of it; -1 while it may be without what nobody knows of.

        The controller lets a broker in only once this covers the record that fenced it, so that it never elects one for a
        partition that it has lost or cannot open.
        """
        if self._image is None or not self._proven or self._partitions.untold or self._is_unopened_untold(self._image):
            return -1
        return self._image.offset

    def _is_unopened_untold(self, image: Image) -> bool:
        """Whether the controller may take something for open here that is not, or of which that is not known yet."""
        if image.metadata_version < MetadataVersion.RELEASE_0_2:
            return False
        failed = self._partitions.failed
        if any(key in self._applied.places and key not in failed for key in self._to_make):
            return True
        unopened = (self._assigned(key) for key in failed)
        return any(each and each.directory_of(self._config.node_id) != UNOPENED_DIRECTORY for each in unopened)

    def on_records(self, image: Image, records: Sequence[MetadataRecord]) -> None:
        """Follow; a snapshot's image is a new object, and what it does not explain is set aside."""
        delta = MetadataDelta()
        delta.add(records)
        if not self._proven:
            self._missed.add(records)
            if self._image is not None:
                self.serve(image)
            return
        if image is not self._image:
            self.start(image)
            return
        self._partitions.forget_absent(image)
        self._give_up_absent(delta.partitions, image)
        # What a topic asks for comes first: how many have to be in sync decides what a new leader commits.
        for resource_type, name in delta.configs:
            if resource_type is ResourceType.TOPIC:
                self._partitions.configure([name], self.settings_of)
            elif resource_type is ResourceType.BROKER:
                self._partitions.configure(None, self.settings_of)
        self._execute(
            plan_changes(
                delta,
                image,
                node_id=self._config.node_id,
                hosted=self._partitions.keys,
                lost=self._partitions.lost,
                offline=self._partitions.offline,
            )
        )

    def _give_up_absent(self, changed: Collection[ReplicaKey], image: Image) -> None:
        """What was in a directory that failed is made anew in another one as soon as the controller does not wait for it any more."""
        for key in [key for key in self._partitions.offline if key in changed]:
            partition = image.partition(*key)
            if partition is None or partition.directory_of(self._config.node_id) != LOST_DIRECTORY:
                continue
            name = TopicPartition(partition.topic, partition.partition)
            self._partitions.directories.suggest(name, self._room.roomiest())
            self._partitions.misplaced.pop(key, None)
            del self._partitions.offline[key]
            self._partitions.lost[key] = True
            logger.info("partition made again partition=%s", name)

    def serve(self, image: Image) -> None:
        """The metadata is known and not proven yet."""
        self._image = image
        self._partitions.configure(None, self.settings_of)
        listed = (key for key in self._partitions.keys if key in self._applied.listed)
        self._execute(plan_unproven(image, node_id=self._config.node_id, hosted=listed))

    def start(self, image: Image) -> None:
        """Bring everything in line with a whole image, which is proven."""
        self._image, self._proven = image, True
        self._partitions.unlisted.update(dict.fromkeys(self._partitions.keys - self._applied.listed))
        self._partitions.set_unknown_aside()
        self._give_up_absent(self._partitions.offline, image)
        self._partitions.look_for_absent(self._applied.places, self._applied.paths, image)
        self._partitions.configure(None, self.settings_of)
        deleted = self._missed.deleted_topics
        self._execute(
            plan_start(
                deleted,
                image,
                node_id=self._config.node_id,
                hosted=self._partitions.keys,
                lost=self._partitions.lost,
                offline=self._partitions.offline,
            )
        )
        self._missed = MetadataDelta()

    def on_session_lost(self) -> None:
        """The controller says that this broker is fenced; what its metadata says it leads is led by others, or soon will be."""
        node = self._node
        if self._image is None or node is None or node.fenced:
            return
        self._told_fenced_after = node.fenced_offset
        self._execute(plan_shut_out(self._image, node_id=self._config.node_id, hosted=self._partitions.keys))

    @property
    def _is_shut_out(self) -> bool:
        """Whether this broker was told that it is fenced, and the metadata has not come to that yet."""
        node = self._node
        return node is not None and not node.fenced and node.fenced_offset == self._told_fenced_after

    @property
    def _node(self) -> Node | None:
        return None if self._image is None else self._image.node(NodeId(self._config.node_id))

    async def run(self) -> None:
        """Do what plans left for later: make logs, try again what failed."""
        while True:
            try:
                async with asyncio.timeout(RETRY_FAILED_MS / 1000):
                    await self._wake.wait()
            except TimeoutError:
                self._to_make.update(dict.fromkeys(self._partitions.failed))
            self._wake.clear()
            while self._to_make and self._note(self._listed()):
                for key in list(islice(self._to_make, MADE_TOGETHER_MAX)):
                    self._make(key)
                    await asyncio.sleep(0)
                self._list()
            if self._partitions.unlisted:
                self._list()

    def _execute(self, steps: Sequence[Step]) -> None:
        """Do all but make logs, then list what is to serve and make some; others are left for later."""
        if self._is_shut_out:
            steps = without_leading(steps, self._config.node_id)
        creates = [(step.partition.topic_id, step.partition.partition) for step in steps if isinstance(step, Create)]
        self._partitions.apply([step for step in steps if not isinstance(step, Create)])
        if not self._proven:
            return
        self._to_make.update(dict.fromkeys(creates))
        if len(creates) > MADE_AT_ONCE_MAX or (creates and not self._note(self._listed())):
            self._wake.set()
        else:
            for key in creates:
                self._make(key)
        self._list()

    def _make(self, key: ReplicaKey) -> None:
        """Make one log, unless the metadata or another plan was faster."""
        self._to_make.pop(key, None)
        partition = self._assigned(key)
        if partition is not None and key not in self._partitions.keys:
            self._partitions.make(partition, self.settings_of(partition.topic))

    def _listed(self, *, new: Collection[ReplicaKey] = ()) -> dict[ReplicaKey, UUID]:
        """What the disks are to say is here, and where: without what is about to be made, so that a crash takes that for new."""
        partitions, known = self._partitions, self._applied.places
        absent = partitions.lost.keys() | partitions.failed
        listed = {key: known[key] for key in absent if key in known} | partitions.offline
        for replica in partitions:
            if replica.key not in partitions.unlisted or replica.key in new:
                listed[replica.key] = replica.directory.directory_id
        return listed

    def _list(self) -> None:
        """Let what was made serve, once the disks say that it is here."""
        new = list(self._partitions.unlisted)
        if new and self._note(self._listed(new=new)):
            self._partitions.begin_to_serve({key: self._served(key) for key in new})

    def on_moved(self, replica: HostedPartition) -> bool:
        """It has another log, in another directory: this holds once it is noted. Whether that worked."""
        if not self._note(self._listed()):
            return False
        self._partitions.on_moved(replica, self._served(replica.key))
        return True

    def on_directories_failed(self, directories: Sequence[DataDir]) -> None:
        """Serve nothing from them. What was just being made there is made in another one."""
        for directory in directories:
            place = directory.directory_id
            listed = [key for key, found in self._applied.places.items() if found == place]
            self._room.note(directory)
            unmade = self._partitions.take_offline(directory, listed, self._image)
            self._to_make.update(dict.fromkeys(unmade))
            self._wake.set()

    def _note(self, listed: Mapping[ReplicaKey, UUID]) -> bool:
        try:
            self._applied.note(self._applied_now(), listed)
        except OSError as error:
            if not self._noting_fails:
                logger.error("applied metadata not noted, no partition is made reason=%s", error)
            self._noting_fails = True
            return False
        self._noting_fails = False
        return True

    def _applied_now(self) -> Applied | None:
        assert self._image is not None, "plans come from images"
        return Applied.of(self._image)

    def _assigned(self, key: ReplicaKey) -> Partition | None:
        """The partition, while it belongs on this broker."""
        assert self._image is not None, "plans come from images"
        partition = self._image.partition(*key)
        return partition if partition is not None and self._config.node_id in partition.replicas else None

    def _served(self, key: ReplicaKey) -> Partition | None:
        """The partition as this broker takes part in it; None if it belongs here no more."""
        assert self._image is not None, "plans come from images"
        partition = self._assigned(key)
        if partition is None:
            return None
        node_id = self._config.node_id
        return (
            kept_from_leading(partition, node_id) if self._is_shut_out else as_served(partition, self._image, node_id)
        )

    def settings_of(self, topic: str) -> TopicSettings:
        assert self._image is not None
        configs = EffectiveConfigs(self._image, self._config.properties, self._config.node_id)
        return TopicSettings.of(configs.topic_values(topic))
