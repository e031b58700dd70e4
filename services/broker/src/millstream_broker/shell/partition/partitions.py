"""Every partition this broker keeps: opened at the start, then made, led, deleted and set aside as the plans say."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

from millstream_broker.core.hosting import Create, Delete, Lose, ReplicaKey, SetAside, Step, Update, is_counted_on
from millstream_broker.core.partition.standing import Assigned
from millstream_broker.core.topic_settings import TopicSettings
from millstream_broker.shell.delays import Delays
from millstream_broker.shell.partition.effects import perform, wake_all
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.isr_changes import IsrChanges
from millstream_broker.shell.partition.removals import Removals
from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_log import DataDir, Log, LogError, TopicPartition
from millstream_runtime.world import World
from millstream_wire.records import RecordsError

logger = logging.getLogger(__name__)

SettingsOf: TypeAlias = Callable[[str], TopicSettings]


class HostedPartitions:
    """Invariant: the same partitions by id and by name, each with an open log in the data directory."""

    def __init__(self, directory: DataDir, delays: Delays, world: World, *, node_id: int) -> None:
        self.removals = Removals(world, directory.disk)
        self.isr_changes = IsrChanges()
        """What leaders here have to ask the controller for."""
        self._directory = directory
        self._delays = delays
        self._world = world
        self._node_id = node_id
        self._by_id: dict[ReplicaKey, HostedPartition] = {}
        self._by_topic: dict[str | bytes, dict[int, HostedPartition]] = {}
        """Under the topic's name, and under its id as it is on the wire: a UUID is dear to look up."""
        self.on_added: Callable[[], None] = lambda: None
        """Called whenever a partition that belongs here begins to serve, or turned out not to open."""
        self.unlisted: dict[ReplicaKey, None] = {}
        """Made here, and the disk does not say yet that they are: they do not serve before it does."""
        self.lost: dict[ReplicaKey, bool] = {}
        """Without their directory, and whether the controller knows: it does not count on this broker's copy any more."""
        self.on_lost: Callable[[], None] = lambda: None
        """Called when the controller has to be told of a lost partition."""
        self.before_assigned: Callable[[HostedPartition, Partition], None] = lambda *_: None
        """Called before a partition's standing hears what the metadata says of it."""
        self.after_assigned: Callable[[HostedPartition, Partition], None] = lambda *_: None
        self.on_removed: Callable[[HostedPartition], None] = lambda _: None
        """Called before a partition goes away."""
        self._held_back: dict[ReplicaKey, Partition] = {}
        """What partitions that are being cut are told once that is done: nobody may lead them before."""
        self._unknown: list[TopicPartition] = []
        """Directories that do not say which topic they are of; they are set aside once that may be done."""
        self._failed: dict[ReplicaKey, None] = {}
        self._unopened: set[TopicPartition] = set()

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[HostedPartition]:
        return iter(list(self._by_id.values()))

    @property
    def keys(self) -> KeysView[ReplicaKey]:
        return self._by_id.keys()

    @property
    def failed(self) -> KeysView[ReplicaKey]:
        """Partitions that should be here and whose directory could not be made or read."""
        return self._failed.keys()

    @property
    def untold(self) -> list[ReplicaKey]:
        """Lost partitions of which the controller does not know."""
        return [key for key, told in self.lost.items() if not told]

    def is_settled(self, key: ReplicaKey) -> bool:
        """Whether a partition that belongs here serves as the metadata says, or will not."""
        return (key in self._by_id and key not in self.unlisted) or key in self._failed or key in self.lost

    def find(self, topic: str | bytes | UUID, index: int) -> HostedPartition | None:
        """Find a partition by its topic's name or id; bytes are an id as it is on the wire."""
        if isinstance(topic, (str, bytes)):
            partitions = self._by_topic.get(topic)
            return None if partitions is None else partitions.get(index)
        return self._by_id.get((topic, index))

    def hosts(self, replica: HostedPartition) -> bool:
        """Whether its directory still is its own: another partition may have the name by now."""
        return self._by_id.get(replica.key) is replica

    def load(self) -> None:
        """Open and, after a crash, recover every log in the directory that can be; whose leader we are comes later."""
        for name in sorted(self._directory.partitions()):
            try:
                self._load(name)
            except (OSError, LogError, RecordsError) as error:
                self._tell_unopened(name, error)

    def _load(self, name: TopicPartition) -> None:
        topic_id = self._directory.topic_id(name)
        if topic_id is None:
            self._unknown.append(name)
            return
        settings = TopicSettings()
        log = self._directory.open_log(name, topic_id, settings.log, now_ms=self._world.now_ms())
        self._add(self._hosted(name, topic_id, log, settings))

    def _hosted(self, name: TopicPartition, topic_id: UUID, log: Log, settings: TopicSettings) -> HostedPartition:
        high_watermark = self._directory.high_watermark(name)
        return HostedPartition(
            name,
            topic_id,
            log,
            settings,
            node_id=self._node_id,
            high_watermark=high_watermark,
            ended=log.ended_transactions(high_watermark, now_ms=self._world.now_ms()),
            isr_changes=self.isr_changes,
        )

    # ---- following the metadata ----

    def apply(self, steps: Sequence[Step]) -> None:
        """Execute a plan, in its order; what is to be made is made by `make`, in whichever pieces its caller wants."""
        if len(steps) > 1:
            counts = Counter(type(step).__name__.lower() for step in steps)
            logger.info("partitions follow the metadata %s", " ".join(f"{kind}={n}" for kind, n in counts.items()))
        for step in steps:
            match step:
                case Update(partition):
                    if (partition.topic_id, partition.partition) not in self.unlisted:
                        self._assign(self._by_id[partition.topic_id, partition.partition], partition)
                case Delete(key):
                    self._remove(key, keep=False)
                case SetAside(key):
                    self._remove(key, keep=True)
                case Lose(partition):
                    self._lose(partition)
                case Create():
                    raise AssertionError("made by `make`")

    def set_unknown_aside(self) -> None:
        """Keep directories that do not say what they hold out of the way of those that will be made."""
        for name in self._unknown:
            try:
                self._directory.set_aside(name)
            except OSError as error:
                self._tell_unopened(name, error)
        self._unknown = []

    def look_for_lost(self, listed: Iterable[ReplicaKey], image: Image) -> None:
        """Find what has had a directory here, belongs here and has none any more."""
        self.forget_lost(image)
        present = self._directory.partitions()
        for key in listed:
            partition = image.partition(*key)
            if partition is None or self._node_id not in partition.replicas or key in self._by_id:
                continue
            name = TopicPartition(partition.topic, partition.partition)
            if name not in present or not self._may_be_of(name, partition.topic_id):
                self.lost.setdefault(key, False)

    def _may_be_of(self, name: TopicPartition, topic_id: UUID) -> bool:
        try:
            return self._directory.topic_id(name) in (topic_id, None)
        except (OSError, LogError):
            return True  # its disk has to get better, or a person has to look

    def forget_lost(self, image: Image) -> None:
        """What does not belong here any more is not missed."""
        for key in list(self.lost):
            partition = image.partition(*key)
            if partition is None or self._node_id not in partition.replicas:
                del self.lost[key]

    def _lose(self, partition: Partition) -> None:
        """Serve without it. The controller is told until it does not count on this broker's copy any more."""
        key = (partition.topic_id, partition.partition)
        name = TopicPartition(partition.topic, partition.partition)
        if name not in self._unopened:
            self._unopened.add(name)
            logger.error("partition lost partition=%s reason=its directory is gone from %s", name, self._directory.path)
        self.lost[key] = not is_counted_on(partition, self._node_id)
        if not self.lost[key]:
            self.on_lost()
        self.on_added()

    def configure(self, topics: Iterable[str] | None, settings_of: SettingsOf) -> None:
        """Let partitions of these topics (None: of all) take their settings anew."""
        wanted = None if topics is None else set(topics)
        settings: dict[str, TopicSettings] = {}
        for replica in self._by_id.values():
            if wanted is None or replica.topic in wanted:
                if replica.topic not in settings:
                    settings[replica.topic] = settings_of(replica.topic)
                replica.configure(settings[replica.topic])
                configured = replica.partition.on_configured(replica.settings.min_insync_replicas)
                perform(configured, replica, self._delays)

    def make(self, partition: Partition, settings: TopicSettings) -> None:
        """Make the directory and the log; it serves from `begin_to_serve` on."""
        key = (partition.topic_id, partition.partition)
        name = TopicPartition(partition.topic, partition.partition)
        try:
            log = self._directory.open_log(name, partition.topic_id, settings.log, now_ms=self._world.now_ms())
        except (OSError, LogError, RecordsError) as error:
            self._failed[key] = None
            self._tell_unopened(name, error)
            self.on_added()
            return
        self._failed.pop(key, None)
        self.lost.pop(key, None)
        if name in self._unopened:
            self._unopened.remove(name)
            logger.info("partition opened at last partition=%s", name)
        self.unlisted[key] = None
        self._add(self._hosted(name, partition.topic_id, log, settings))
        logger.debug("partition created partition=%s topic_id=%s", name, partition.topic_id)

    def begin_to_serve(self, partitions: Mapping[ReplicaKey, Partition | None]) -> None:
        """The disk says that these are here now; None: the metadata has no use for it any more, and a plan comes for it."""
        for key, partition in partitions.items():
            self.unlisted.pop(key, None)
            if partition is not None:
                self._assign(self._by_id[key], partition)
        self.on_added()

    def _tell_unopened(self, name: TopicPartition, error: Exception) -> None:
        """One partition is left out, the others are served; it is tried again and again, which need not be told each time."""
        if name not in self._unopened:
            self._unopened.add(name)
            logger.error("partition not opened partition=%s reason=%s", name, error)

    def assign_held_back(self, replica: HostedPartition) -> None:
        """It has been cut, or that failed: what the metadata said meanwhile holds now."""
        partition = self._held_back.pop(replica.key, None) if self.hosts(replica) else None
        if partition is not None:
            self._assign(replica, partition)

    def _assign(self, replica: HostedPartition, partition: Partition) -> None:
        self.before_assigned(replica, partition)
        if replica.is_cut:
            self._held_back[replica.key] = partition
            return
        event = Assigned(
            partition.replicas, partition.isr, partition.leader, partition.leader_epoch, partition.partition_epoch
        )
        standing = replica.partition
        served = (standing.follows_in_sync, standing.leader_epoch)
        perform(standing.on_assigned(event), replica, self._delays)
        if served[0] and served != (standing.follows_in_sync, standing.leader_epoch):
            wake_all(replica, self._delays)  # consumers who wait at this copy, for what may never come to it
        self.after_assigned(replica, partition)

    def _remove(self, key: ReplicaKey, *, keep: bool) -> None:
        self._failed.pop(key, None)
        self.unlisted.pop(key, None)
        self._held_back.pop(key, None)
        replica = self._by_id.pop(key)
        self.on_removed(replica)
        for topic in replica.topic, replica.topic_id.bytes:
            partitions = self._by_topic[topic]
            del partitions[replica.index]
            if not partitions:
                del self._by_topic[topic]
        ended = replica.partition.on_given_up()
        try:
            if keep:
                self._directory.set_aside(replica.name)
            else:
                self.removals.add([self._directory.doom_log(replica.name)], replica.settings.file_delete_delay_ms)
                logger.info("partition deleted partition=%s topic_id=%s", replica.name, replica.topic_id)
        except OSError as error:
            # It is not served any more, and the next start finds what is left: the others need not stop for one disk's error.
            logger.error("partition's files stay partition=%s reason=%s", replica.name, error)
        perform(ended, replica, self._delays)
        wake_all(replica, self._delays)

    # ---- checkpoints and the end ----

    def checkpoint(self) -> None:
        """Write down how far logs are flushed, where they begin, and what is committed."""
        self._directory.checkpoint(self._high_watermarks())

    def close(self, broker_epoch: int) -> None:
        """Bring everything to the disk, so that the next start needs no recovery."""
        self._directory.close(self._high_watermarks(), broker_epoch=broker_epoch)

    def abandon(self) -> None:
        """Let go as a crash would."""
        self._directory.abandon()

    def _high_watermarks(self) -> dict[TopicPartition, int]:
        return {replica.name: replica.partition.high_watermark for replica in self._by_id.values()}

    def _add(self, replica: HostedPartition) -> None:
        self._by_id[replica.key] = replica
        for topic in replica.topic, replica.topic_id.bytes:
            self._by_topic.setdefault(topic, {})[replica.index] = replica
