"""Every partition this broker keeps: opened at the start, then made, led, deleted and set aside as the plans say."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

from millstream_broker.core.hosting import (
    Create,
    Delete,
    Lose,
    ReplicaKey,
    SetAside,
    Step,
    Update,
    is_counted_on,
    is_told,
)
from millstream_broker.core.partition.effects import Effect
from millstream_broker.core.partition.standing import Assigned
from millstream_broker.core.topic_settings import TopicSettings
from millstream_broker.shell.delays import Delays
from millstream_broker.shell.partition.absent import absent
from millstream_broker.shell.partition.due_flushes import DueFlushes
from millstream_broker.shell.partition.effects import perform, wake_all
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.isr_changes import IsrChanges
from millstream_broker.shell.partition.log_dirs import HighWatermarks, LogDirs
from millstream_broker.shell.partition.removals import Removals
from millstream_cluster.ids import LOST_DIRECTORY, UNOPENED_DIRECTORY
from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_log import DataDir, LogError, TopicPartition
from millstream_runtime.world import World
from millstream_wire.records import RecordsError

logger = logging.getLogger(__name__)

SettingsOf: TypeAlias = Callable[[str], TopicSettings]
NO_TOPIC: Final = UUID(int=0)


class HostedPartitions:
    """Invariant: the same partitions by id and by name, each with an open log in one of the data directories."""

    def __init__(self, directories: LogDirs, delays: Delays, world: World, *, node_id: int) -> None:
        self.removals = Removals(world, directories.disk)
        self.isr_changes = IsrChanges()
        """What leaders here have to ask the controller for."""
        self.due_flushes = DueFlushes()
        self.directories = directories
        self._delays = delays
        self._world = world
        self._node_id = node_id
        self._by_id: dict[ReplicaKey, HostedPartition] = {}
        self._by_topic: dict[str | bytes, dict[int, HostedPartition]] = {}
        """Under the topic's name, and under name and id as they are on the wire: making a string or a UUID of them is dear."""
        self.on_added: Callable[[], None] = lambda: None
        """Called whenever a partition that belongs here begins to serve, or turned out not to open."""
        self.unlisted: dict[ReplicaKey, None] = {}
        """Made here, and the disk does not say yet that they are: they do not serve before it does."""
        self.lost: dict[ReplicaKey, bool] = {}
        """Without their directory, and whether the controller knows: it does not count on this broker's copy any more."""
        self.offline: dict[ReplicaKey, UUID] = {}
        """In a data directory that failed, by its id: nobody else here may stand in for them."""
        self.misplaced: dict[ReplicaKey, UUID] = {}
        """In a directory of which the metadata may not know."""
        self.on_untold: Callable[[], None] = lambda: None
        """Called when the controller has to be told of a lost or misplaced partition."""
        self.before_assigned: Callable[[HostedPartition, Partition], None] = lambda *_: None
        """Called before a partition's standing hears what the metadata says of it."""
        self.after_assigned: Callable[[HostedPartition, Partition], None] = lambda *_: None
        self.on_removed: Callable[[HostedPartition], None] = lambda _: None
        """Called before a partition goes away."""
        self.on_flush_failed: Callable[[HostedPartition, Exception], None] = lambda *_: None
        self.on_question: Callable[[HostedPartition], None] = lambda _: None
        """Called when a follower may have something else to say to its leader: a flush has ended, or failed."""
        self.on_hanging: Callable[[DataDir], None] = lambda _: None
        """Called when a flush takes longer than a leader may take, and when one has ended after that."""
        self.on_answering: Callable[[DataDir], None] = lambda _: None
        self._held_back: dict[ReplicaKey, Partition] = {}
        """What partitions that are being cut are told once that is done: nobody may lead them before."""
        self._unknown: list[tuple[DataDir, TopicPartition]] = []
        """Directories that do not say which topic they are of, or are there twice; they are set aside once that may be done."""
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
        is_away = key in self._failed or key in self.lost or key in self.offline
        return is_away or (key in self._by_id and key not in self.unlisted)

    def find(self, topic: str | bytes | UUID, index: int) -> HostedPartition | None:
        """Find a partition by its topic's name or id; bytes are an id or a compact name as they are on the wire."""
        if isinstance(topic, (str, bytes)):
            partitions = self._by_topic.get(topic)
            return None if partitions is None else partitions.get(index)
        return self._by_id.get((topic, index))

    def hosts(self, replica: HostedPartition) -> bool:
        """Whether its directory still is its own: another partition may have the name by now."""
        return self._by_id.get(replica.key) is replica

    def load(self, places: Mapping[ReplicaKey, UUID] = MappingProxyType({})) -> None:
        """Open and, after a crash, recover every log there is that can be; whose leader we are comes later.

        `places` says which one it is, if a partition is found in two directories.
        """
        for name, copies in self.directories.copies(self._tell_unopened).items():
            if len(copies) > 1:
                copies.sort(key=lambda copy: places.get((copy[1] or NO_TOPIC, name.partition)) != copy[0].directory_id)
            for directory, topic_id in copies:
                if topic_id is None or (directory, topic_id) != copies[0]:
                    self._unknown.append((directory, name))
                    continue
                try:
                    self._open(directory, name, topic_id, TopicSettings())
                except (OSError, LogError, RecordsError) as error:
                    self._tell_unopened(name, error)

    def _open(self, directory: DataDir, name: TopicPartition, topic_id: UUID, settings: TopicSettings) -> None:
        now_ms = self._world.now_ms()
        log = directory.open_log(name, topic_id, settings.log, now_ms=now_ms)
        high_watermark = directory.high_watermark(name)
        replica = HostedPartition(
            name,
            topic_id,
            log,
            settings,
            directory=directory,
            node_id=self._node_id,
            high_watermark=high_watermark,
            ended=log.ended_transactions(high_watermark, now_ms=now_ms),
            isr_changes=self.isr_changes,
        )
        self._add(replica)

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
        for directory, name in self._unknown:
            try:
                directory.set_aside(name)
            except OSError as error:
                self._tell_unopened(name, error)
        self._unknown = []

    def look_for_absent(self, places: Mapping[ReplicaKey, UUID], paths: Mapping[UUID, Path], image: Image) -> None:
        """Find what has had a directory here, belongs here and has none any more, or one that cannot be used now."""
        self.forget_absent(image)
        for each in absent(places, paths, image, self.directories, node_id=self._node_id, hosted=self.keys):
            if each.is_lost:
                self.lost.setdefault(each.key, each.place == LOST_DIRECTORY)
            else:
                self.offline[each.key] = each.place
                self._note_place(each.key, each.place, each.partition)

    def forget_absent(self, image: Image) -> None:
        """What does not belong here any more is not missed."""
        for key in [*self.lost, *self.offline]:
            partition = image.partition(*key)
            if partition is None or self._node_id not in partition.replicas:
                self.lost.pop(key, None)
                self.offline.pop(key, None)

    def _lose(self, partition: Partition) -> None:
        """Serve without it. The controller is told until it does not count on this broker's copy any more."""
        key = (partition.topic_id, partition.partition)
        name = TopicPartition(partition.topic, partition.partition)
        if name not in self._unopened:
            self._unopened.add(name)
            paths = ", ".join(str(each.path) for each in self.directories.online)
            logger.error("partition lost partition=%s reason=its directory is gone from %s", name, paths)
        self.lost[key] = not is_counted_on(partition, self._node_id)
        if not self.lost[key]:
            self.on_untold()
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
                asked = replica.settings
                configured = replica.partition.on_configured(asked.min_insync_replicas, asked.visible_after_flush)
                perform(configured, replica, self._delays)
                self.flush_soon(replica)

    def flush_soon(self, replica: HostedPartition) -> None:
        """Something may have to be flushed before anybody may see it."""
        if replica.settings.visible_after_flush:
            self.due_flushes.add(replica)

    def flushed(self, replica: HostedPartition) -> None:
        """It has been; of a follower the leader may hear now."""
        if replica.settings.visible_after_flush:
            perform(replica.partition.on_flushed(replica.log.recovery_point), replica, self._delays)
            self.on_question(replica)

    def make(self, partition: Partition, settings: TopicSettings) -> None:
        """Make the directory and the log; it serves from `begin_to_serve` on."""
        key = (partition.topic_id, partition.partition)
        name = TopicPartition(partition.topic, partition.partition)
        try:
            self._open(self.directories.for_new(name), name, partition.topic_id, settings)
        except (OSError, LogError, RecordsError) as error:
            self._failed[key] = None
            self._tell_unopened(name, error)
            self._note_place(key, UNOPENED_DIRECTORY, partition)
            self.on_added()
            return
        self._failed.pop(key, None)
        self.lost.pop(key, None)
        if name in self._unopened:
            self._unopened.remove(name)
            logger.info("partition opened at last partition=%s", name)
        self.unlisted[key] = None
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
        self._note_place(replica.key, replica.directory.directory_id, partition)
        self.before_assigned(replica, partition)
        if replica.is_cut:
            self._held_back[replica.key] = partition
            return
        event = Assigned(
            partition.replicas, partition.isr, partition.leader, partition.leader_epoch, partition.partition_epoch
        )
        standing = replica.partition
        perform(standing.on_flushed(replica.log.recovery_point), replica, self._delays)
        served = (standing.follows_in_sync, standing.leader_epoch)
        perform(standing.on_assigned(event), replica, self._delays)
        if served[0] and served != (standing.follows_in_sync, standing.leader_epoch):
            wake_all(replica, self._delays)  # consumers who wait at this copy, for what may never come to it
        self.flush_soon(replica)
        self.after_assigned(replica, partition)

    def _note_place(self, key: ReplicaKey, place: UUID, partition: Partition) -> None:
        """Have the controller told where a replica is, unless the metadata says so, or need not: there is one directory."""
        if is_told(partition, self._node_id, place, is_only_one=len(self.directories) == 1):
            self.misplaced.pop(key, None)
        else:
            self.misplaced[key] = place
            self.on_untold()

    def on_moved(self, replica: HostedPartition, partition: Partition | None) -> None:
        """Its log is another one, with the same records: whoever holds the old one lets go of it."""
        self.on_removed(replica)
        if partition is not None:
            self._assign(replica, partition)
        wake_all(replica, self._delays)

    def _remove(self, key: ReplicaKey, *, keep: bool) -> None:
        self._failed.pop(key, None)
        replica = self._by_id[key]
        ended = self._give_up(replica)
        try:
            if keep:
                replica.directory.set_aside(replica.name)
            else:
                self.removals.add([replica.directory.doom_log(replica.name)], replica.settings.file_delete_delay_ms)
                logger.info("partition deleted partition=%s topic_id=%s", replica.name, replica.topic_id)
        except OSError as error:
            # It is not served any more, and the next start finds what is left: the others need not stop for one disk's error.
            logger.error("partition's files stay partition=%s reason=%s", replica.name, error)
        perform(ended, replica, self._delays)
        wake_all(replica, self._delays)

    def _give_up(self, replica: HostedPartition) -> Sequence[Effect]:
        """Serve it no more. What is returned is to be performed once nothing can be done to its files any more."""
        key = replica.key
        self.unlisted.pop(key, None)
        self.misplaced.pop(key, None)
        self._held_back.pop(key, None)
        del self._by_id[key]
        self.on_removed(replica)
        for topic in replica.topic_names():
            partitions = self._by_topic[topic]
            del partitions[replica.index]
            if not partitions:
                del self._by_topic[topic]
        return replica.partition.on_given_up()

    def take_offline(self, directory: DataDir, listed: Iterable[ReplicaKey], image: Image | None) -> list[ReplicaKey]:
        """Serve nothing from a data directory that failed; those that were just being made there are returned, to be made elsewhere.

        `listed`: what the disks say is in it, whether or not it could be opened. Before there is an image, it is looked for later.
        """
        place = directory.directory_id
        gone = [replica for replica in self._by_id.values() if replica.directory is directory]
        unmade = [replica.key for replica in gone if replica.key in self.unlisted]
        ended = [(replica, self._give_up(replica)) for replica in gone]
        directory.abandon()
        for key in {*listed, *(replica.key for replica in gone)}.difference(unmade, self._by_id, self.lost):
            partition = None if image is None else image.partition(*key)
            if partition is not None and self._node_id in partition.replicas:
                self._failed.pop(key, None)
                self.offline[key] = place
                self._note_place(key, place, partition)
        self._unknown = [each for each in self._unknown if each[0] is not directory]
        count, reason = len(gone) - len(unmade), self.directories.reason(place)
        logger.error("log directory failed path=%s partitions=%d reason=%s", directory.path, count, reason)
        for replica, effects in ended:
            perform(effects, replica, self._delays)
            wake_all(replica, self._delays)
        self.on_added()
        return unmade

    # ---- checkpoints and the end ----

    def checkpoint(self) -> None:
        """Write down how far logs are flushed, where they begin, and what is committed. Raises OSError once all was tried."""
        self.directories.checkpoint(self._high_watermarks())

    def close(self, broker_epoch: int) -> None:
        """Bring everything to the disks, so that the next start needs no recovery. Raises OSError once all was tried."""
        self.directories.close(self._high_watermarks(), broker_epoch=broker_epoch)

    def abandon(self) -> None:
        """Let go as a crash would."""
        self.directories.close_all()

    def _high_watermarks(self) -> HighWatermarks:
        found: HighWatermarks = {each: {} for each in self.directories.ids}
        for replica in self._by_id.values():
            found[replica.directory.directory_id][replica.name] = replica.partition.high_watermark
        return found

    def _add(self, replica: HostedPartition) -> None:
        self._by_id[replica.key] = replica
        for topic in replica.topic_names():
            self._by_topic.setdefault(topic, {})[replica.index] = replica
