"""Partitions with several replicas: what is committed is on everybody who may be elected, and is the same everywhere.

Looked at when a replica's log or high watermark has moved, and when the committed metadata says something new about who is in sync.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from uuid import UUID

from millstream.roles import Role
from millstream_broker.app import BrokerApp
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE
from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_log import StorageError
from millstream_simulation.checks.replicas.committed import Committed
from millstream_simulation.checks.replicas.held import Batch, Held
from millstream_simulation.checks.replicas.metadata import changed_situations
from millstream_simulation.host import Host
from millstream_simulation.story import Story, Violation

Key = tuple[UUID, int]


class _Replica:
    """One partition in one process."""

    def __init__(self, host: Host, hosted: HostedPartition, earlier_end: int) -> None:
        """`earlier_end`: where the log ended in the life before this one."""
        self.host = host
        self.hosted = hosted
        self.earlier_end = earlier_end
        self.held = Held(hosted.log)
        self.judged_to = 0
        """Up to where it was held against what is committed."""
        self.high_watermark = 0
        self.isr: tuple[int, ...] = ()
        self.min_isr = hosted.settings.min_insync_replicas

    @property
    def end(self) -> int:
        """Of its log; where it ended, if the process is no more."""
        return int(self.hosted.log.log_end_offset)


class Replicas:
    def __init__(self, hosts: Sequence[Host], image: Callable[[], Image], story: Story) -> None:
        """`image`: what is committed by now."""
        self._brokers: Mapping[int, Host] = {
            int(host.name.rpartition("-")[2]): host for host in hosts if host.role is Role.BROKER
        }
        self._image = image
        self._story = story
        self._replicated: dict[Key, Committed] = {}
        self._replicas: dict[tuple[str, Key], _Replica] = {}
        self._written: dict[Key, dict[tuple[int, int], Batch]] = {}
        """By leader epoch and base offset: two leaders would write two of them."""
        self._writers: dict[tuple[Key, int], tuple[str, object]] = {}
        self._to_judge: dict[Key, None] = {}
        self._lives: dict[str, tuple[HostedPartitions, int]] = {}
        """Of each broker its present life, and where the metadata ended when it began."""

    # ---- what happens ----

    def on_committed(self, image: Image, record: r.MetadataRecord) -> None:
        """`record` is new in the committed log, and `image` is from before it."""
        match record:
            case r.PartitionCreated() | r.PartitionChanged() if len(record.replicas) > 1:
                key = (record.topic_id, record.partition)
                if key not in self._replicated:
                    topic = image.topic(record.topic_id)
                    self._replicated[key] = Committed(f"{topic.name if topic else record.topic_id}-{record.partition}")
                before = image.partition(*key)
                if before is not None and isinstance(record, r.PartitionChanged):
                    for situation in changed_situations(before, record):
                        self._story.note(situation)
                    self._look_at_election(key, before, record)
                self._to_judge[key] = None
            case r.TopicDeleted():
                for key in [key for key in self._replicated if key[0] == record.topic_id]:
                    del self._replicated[key]
                    self._to_judge.pop(key, None)
            case r.NodeRegistered() | r.NodeUnfenced() if record.node_id in self._brokers:
                self._to_judge.update(dict.fromkeys(self._replicated))
            case _:
                pass

    def on_moved(self, host: Host, hosted: HostedPartition) -> None:
        """A partition's leader epoch, log end or high watermark is another one than when this was called last."""
        if hosted.key in self._replicated:
            replica = self._find(host, hosted)
            if self._follow(replica):
                self._judge_high_watermark(replica)

    def look(self, host: Host) -> None:
        """Judge what has changed about who may be elected."""
        service = host.service
        if isinstance(service, BrokerApp) and service.partitions is not None:
            life = self._lives.get(host.name)
            if life is None or life[0] is not service.partitions:
                self._lives[host.name] = (service.partitions, self._image().offset)
        while self._to_judge:
            key, _ = self._to_judge.popitem()
            self._judge_members(key)

    # ---- one replica ----

    def _find(self, host: Host, hosted: HostedPartition) -> _Replica:
        place = (host.name, hosted.key)
        replica = self._replicas.get(place)
        if replica is None or replica.hosted is not hosted:
            if replica is not None and replica.held.log is hosted.log:
                raise Violation(f"{hosted.name} is hosted twice with one log")
            replica = self._replicas[place] = _Replica(host, hosted, replica.end if replica is not None else 0)
        return replica

    def _follow(self, replica: _Replica) -> bool:
        """Take in what its log has got and lost; False if the disk does not say."""
        hosted, before = replica.hosted, replica.held.end
        if replica.held.log is not hosted.log:  # moved to another directory
            replica.held = Held(hosted.log)
            replica.judged_to = 0
        held = replica.held
        latest = held.batches[-1].epoch if held.batches else -1
        try:
            new = held.follow()
        except (OSError, StorageError):
            return False
        if hosted.log.log_end_offset < before:
            self._judge_cut(replica, before)
            latest = -1
        partition = hosted.partition
        for batch in new:
            if batch.epoch < latest:
                raise Violation(f"{hosted.name}: {batch} of {replica.host.name} comes after leader epoch {latest}")
            latest = batch.epoch
            self._judge_written(replica, batch)
            if partition.leads and batch.epoch == partition.leader_epoch:
                self._judge_writer(replica, batch.epoch)
        return True

    def _judge_cut(self, replica: _Replica, before: int) -> None:
        hosted, end = replica.hosted, replica.held.end
        self._story.note("uncommitted tail cut off")
        self._to_judge[hosted.key] = None
        replica.judged_to = min(replica.judged_to, end)
        if end < replica.high_watermark and not self._was_unclean(hosted.key):
            raise Violation(
                f"{hosted.name} of {replica.host.name} was cut from {before} to {end}, "
                f"and it knew that {replica.high_watermark} is committed"
            )

    def _judge_written(self, replica: _Replica, batch: Batch) -> None:
        hosted = replica.hosted
        written = self._written.setdefault(hosted.key, {})
        known = written.setdefault((batch.epoch, batch.base), batch)
        if known != batch and not _compacts(hosted):
            raise Violation(f"{hosted.name}: {replica.host.name} has {batch}, and another has {known}")

    def _judge_writer(self, replica: _Replica, epoch: int) -> None:
        """With several replicas a leader epoch is one process's, not only one broker's."""
        me = (replica.host.name, replica.host.world)
        writer = self._writers.setdefault((replica.hosted.key, epoch), me)
        if writer != me:
            raise Violation(
                f"{replica.hosted.name} was written to by two processes in leader epoch {epoch}: {writer[0]}, {me[0]}"
            )

    def _judge_high_watermark(self, replica: _Replica) -> None:
        hosted, partition = replica.hosted, replica.hosted.partition
        high_watermark, before = int(partition.high_watermark), replica.high_watermark
        committed = self._replicated[hosted.key]
        if high_watermark > replica.held.end:
            raise Violation(
                f"{hosted.name}: {replica.host.name} takes {high_watermark} for committed and has {replica.held.end}"
            )
        if partition.leads:
            if high_watermark > before and before > 0:
                self._judge_advance(replica, high_watermark)
            if high_watermark < partition.epoch_start_offset:
                self._story.note("new leader behind on what is committed")
            if high_watermark < replica.held.end:
                self._story.note("record waited for replicas")
        if high_watermark > committed.end:
            committed.extend(replica.held, high_watermark)
            self._to_judge[hosted.key] = None
        compacts = _compacts(hosted)
        committed.judge(replica.host.name, replica.held, replica.judged_to, high_watermark, compacts=compacts)
        replica.judged_to = max(replica.judged_to, high_watermark)
        replica.high_watermark = high_watermark
        replica.isr = tuple(partition.isr)
        replica.min_isr = hosted.settings.min_insync_replicas

    # ---- replicas against each other ----

    def _judge_advance(self, leader: _Replica, high_watermark: int) -> None:
        """The leader says more to be committed: all of its ISR have that, and they are as many as they have to be."""
        hosted, partition = leader.hosted, leader.hosted.partition
        in_sync = max(len(partition.isr), len(leader.isr))
        needed = min(leader.min_isr, hosted.settings.min_insync_replicas, len(partition.replicas))
        if in_sync < needed:
            raise Violation(
                f"{hosted.name}: {high_watermark} is committed with {in_sync} replicas in sync, and there must be {needed}"
            )
        for node_id in partition.isr:
            host = self._brokers[node_id]
            if host is leader.host:
                continue
            self._refresh(host, hosted.key)
            replica = self._replicas.get((host.name, hosted.key))
            if replica is not None and replica.end >= high_watermark:
                continue
            if replica is not None and replica.earlier_end >= high_watermark and self._is_news(leader, host, node_id):
                continue
            raise Violation(
                f"{hosted.name}: {leader.host.name} takes {high_watermark} for committed, "
                f"and {host.name} of its ISR has up to {replica.end if replica is not None else 0}"
            )

    def _is_news(self, leader: _Replica, host: Host, node_id: int) -> bool:
        """Whether the leader cannot know yet of the other broker's present life: it has heard the one before."""
        service, other = leader.host.service, host.service
        if not isinstance(service, BrokerApp) or service.follower is None:
            return True
        node = service.follower.image.node(node_id)
        registration = other.registration if isinstance(other, BrokerApp) else None
        return node is None or registration is None or registration.broker_epoch != node.epoch

    def _judge_members(self, key: Key) -> None:
        """Who may be elected has everything that is committed."""
        committed = self._replicated[key]
        partition = self._image().partition(*key)
        if partition is None or not committed.end:
            return
        for node_id in (*partition.isr, *partition.eligible_leader_replicas):
            for replica in self._electable(node_id, key):
                if replica is None:
                    raise Violation(f"{committed.name}: broker {node_id} may be elected, and does not have it at all")
                if not self._follow(replica):
                    continue
                if replica.held.end < committed.end:
                    raise Violation(
                        f"{committed.name}: broker {node_id} may be elected and has up to {replica.held.end}, "
                        f"and up to {committed.end} is committed"
                    )
                hosted = replica.hosted
                compacts = _compacts(hosted)
                committed.judge(replica.host.name, replica.held, replica.judged_to, committed.end, compacts=compacts)
                replica.judged_to = max(replica.judged_to, committed.end)

    def _electable(self, node_id: int, key: Key) -> Iterator[_Replica | None]:
        """Its replica, if the broker is there and registered: once it is let in, an election may choose it without more ado."""
        host, node = self._brokers[node_id], self._image().node(node_id)
        service = host.service
        if not isinstance(service, BrokerApp) or service.partitions is None or node is None:
            return
        partitions, began = self._lives.get(host.name, (None, 0))
        if partitions is not service.partitions or node.epoch <= began:
            return  # the registration is that of the life before
        hosted = service.partitions.find(*key)
        partition = self._image().partition(*key)
        if hosted is not None:
            yield self._find(host, hosted)
        elif not node.fenced and key not in service.partitions.offline and partition and partition.is_usable_at(node):
            yield None

    def _refresh(self, host: Host, key: Key) -> None:
        service = host.service or host.stopping
        if isinstance(service, BrokerApp) and service.partitions is not None:
            hosted = service.partitions.find(*key)
            if hosted is not None:
                self._follow(self._find(host, hosted))

    # ---- elections that may lose something ----

    def _look_at_election(self, key: Key, before: Partition, record: r.PartitionChanged) -> None:
        if record.leader_recovery_state is not r.LeaderRecoveryState.RECOVERING:
            return
        if record.leader in (NO_NODE, before.leader):
            return  # who was elected uncleanly is gone, or has not told yet that it has recovered
        self._story.note("leader elected uncleanly")
        best = {before.leader, *before.isr, *before.last_known_elr}
        if record.leader not in best:
            name = f"{before.topic}-{before.partition}"
            raise Violation(
                f"{name}: broker {record.leader} was elected uncleanly, and the last leader was of {sorted(best)}"
            )
        host = self._brokers.get(record.leader)
        if host is not None:
            self._refresh(host, key)
            replica = self._replicas.get((host.name, key))
            self._replicated[key].cut(replica.held.end if replica is not None else 0)

    def _was_unclean(self, key: Key) -> bool:
        partition = self._image().partition(*key)
        return partition is not None and partition.leader_recovery_state is r.LeaderRecoveryState.RECOVERING


def _compacts(hosted: HostedPartition) -> bool:
    return hosted.settings.compacts or hosted.is_internal
