"""What a broker that stays away had, or a directory that failed, is made again, unasked, a bounded number of replicas at a time.

It is made on other brokers. The replicas stay where they are until the new ones are in sync, as with every reassignment; so nothing is taken
from an ISR or an ELR, and a broker that comes back has lost nothing. If it is in sync again before its replacement is, the replacement is
given up. A directory's replicas are made again by the same broker if its other directories have room for them and nobody counts on the
old copies any more: what was in that directory is lost then, also if it comes back.

The clock is in the metadata log (`since_ms` of `NodeFenced` and `FailedLogDir`), so that it goes on whoever is the active controller. While more
brokers are away than should ever be at a time, healing is suspended: that is an outage to be ended, not copies to be made.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import islice
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.configs import EffectiveConfigs
from millstream_cluster.ids import LOST_DIRECTORY, NodeId
from millstream_cluster.members import Partition
from millstream_cluster.metadata_version import MetadataVersion
from millstream_cluster.placement import Candidate, Carried, replace
from millstream_controller.core.absences import Absences
from millstream_controller.core.failed_directories import NOTED_AFTER_MS, FailedDirectories
from millstream_controller.core.holdings import Key
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.partitions.change import Cause, next_state
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.reassignments import Nodes, cancelled, reassigned, target_of
from millstream_wire.late_dataclass import dataclass

TIMEOUT = "broker.replacement.timeout.ms"
MOVES_MAX = "broker.replacement.partitions.max"


@dataclass(frozen=True, slots=True)
class Loss:
    """Who is away: `gone` for so long that others take their place, unless that many are away that it is `suspended`."""

    away: int = 0
    gone: frozenset[NodeId] = frozenset()
    directories: Mapping[NodeId, frozenset[UUID]] = field(default_factory=dict)
    """Of brokers that live, gone for so long as well."""
    suspended: bool = False

    @property
    def is_none(self) -> bool:
        return not self.gone and not self.directories

    def of(self, partition: Partition) -> frozenset[NodeId]:
        """Whose replicas of those that the partition is to have are gone."""
        target = target_of(partition)
        failed = [
            node_id
            for node_id, directories in self.directories.items()
            if node_id in target and partition.directory_of(node_id) in directories
        ]
        return self.gone.intersection(target).union(failed)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A move of this controller's own: where the replicas were, in which order, and where they go."""

    before: Nodes
    target: Nodes


class Healing:
    """Soft state: what this controller began. A later one ends these moves as well, it only cannot give them up."""

    def __init__(self) -> None:
        self.loss = Loss()
        """As it was looked at last."""
        self.directories = FailedDirectories()
        self._begun: dict[Key, _Begun] = {}
        self._anew: set[tuple[Key, NodeId]] = set()
        """Replicas that their broker makes again in another of its directories, until they are in sync."""

    def next_step(
        self, machine: ControllerMachine, absences: Absences, *, now_ms: int, wall_ms: int
    ) -> tuple[r.MetadataRecord, ...]:
        """What is to be done now; `now_ms` is this controller's monotonic clock, `wall_ms` the time of day."""
        timeout_ms = _setting(machine, TIMEOUT)
        if timeout_ms <= 0 or machine.image.metadata_version < MetadataVersion.RELEASE_0_2:
            self.loss = Loss()
            return ()
        self.directories.look(machine, now_ms)
        noted: tuple[r.MetadataRecord, ...] = (
            *_noted(machine, absences, now_ms=now_ms, wall_ms=wall_ms),
            *self.directories.noted(machine, now_ms=now_ms, wall_ms=wall_ms),
        )
        if noted:
            return noted
        self.loss = _loss(machine, wall_ms - timeout_ms)
        given_up = self._given_up(machine)
        if given_up or self.loss.suspended or self.loss.is_none:
            return given_up
        return self._begin(machine, self.loss)

    def _given_up(self, machine: ControllerMachine) -> tuple[r.PartitionChanged, ...]:
        """Back to those who were there before, where all of them are in sync again and a newcomer is not yet."""
        changes = []
        for key, begun in list(self._begun.items()):
            partition = machine.image.partition(*key)
            if partition is None or not partition.adding_replicas or target_of(partition) != begun.target:
                del self._begun[key]  # it is complete, or was cancelled or replaced by somebody
            elif set(begun.before) <= set(partition.isr):
                change = cancelled(partition, Electorate(machine), original=begun.before)
                changes += [] if change is None else [change]
        return tuple(changes)

    def _begin(self, machine: ControllerMachine, loss: Loss) -> tuple[r.PartitionChanged, ...]:
        """The next moves, and copies that are to be made anew where they were."""
        kept = _kept(machine, loss)
        room = _setting(machine, MOVES_MAX) - self._under_way(machine, kept, loss)
        if room <= 0:
            return ()
        brokers = machine.carriers()
        electorate = Electorate(machine)
        takers = {broker.node_id for broker in brokers if broker.accepts} - loss.gone
        due = list(islice(self._most_urgent(machine.partitions(kept), takers, loss), room))
        moves = _plan(machine, [each for each in due if not self._at_home(each, loss)], brokers, loss)
        changes = []
        for partition in due:
            key = (partition.topic_id, partition.partition)
            at_home = self._at_home(partition, loss)
            if at_home:
                change = next_state(partition, electorate, Cause(directories=dict.fromkeys(at_home, LOST_DIRECTORY)))
                self._anew |= {(key, node_id) for node_id in at_home}
            else:
                change = reassigned(partition, moves[key], electorate) if key in moves else None
                if change is not None:
                    begun = self._begun.get(key)
                    self._begun[key] = _Begun(partition.replicas if begun is None else begun.before, moves[key])
            changes += [] if change is None else [change]
        return tuple(changes)

    def _under_way(self, machine: ControllerMachine, kept: set[Key], loss: Loss) -> int:
        """How many of them are made again by now."""
        for key, node_id in list(self._anew):
            partition = machine.image.partition(*key)
            if partition is None or node_id not in partition.replicas or node_id in (*partition.isr, *loss.gone):
                self._anew.discard((key, node_id))
        moving = machine.partitions(kept & machine.holdings.moving)
        return sum(not loss.of(each) for each in moving) + len(self._anew)

    def _most_urgent(self, partitions: Iterable[Partition], takers: set[NodeId], loss: Loss) -> list[Partition]:
        """Those that can be made again, with the fewest copies in sync first: who has no leader has nobody to copy from."""
        able = (
            each
            for each in partitions
            if each.online and loss.of(each) and (self._at_home(each, loss) or self._may_move(each, takers, loss))
        )
        return sorted(able, key=lambda partition: len(partition.isr))

    def _at_home(self, partition: Partition, loss: Loss) -> list[NodeId]:
        """Who makes its own replica again: it has room, and nobody counts on the copy in the directory that failed."""
        counted_on = {*partition.isr, *partition.eligible_leader_replicas, *partition.last_known_elr}
        return [
            node_id
            for node_id in sorted(loss.of(partition) - loss.gone - counted_on)
            if self.directories.may_replace(node_id, partition.directory_of(node_id))
        ]

    def _may_move(self, partition: Partition, takers: set[NodeId], loss: Loss) -> bool:
        """Whether others can make it, and those whose directories failed have had the time to say whether they do."""
        at_failed = loss.of(partition) - loss.gone
        return bool(takers - set(partition.replicas)) and all(map(self.directories.has_said, at_failed))


def _noted(machine: ControllerMachine, absences: Absences, *, now_ms: int, wall_ms: int) -> Iterator[r.NodeFenced]:
    """Since when brokers are away of which nobody has written it down, or whose time is not over yet by our clock."""
    for node in machine.image.brokers.values():
        if node.fenced and not 0 < node.away_since_ms <= wall_ms:
            away_ms = absences.of(node, now_ms)
            if away_ms >= NOTED_AFTER_MS:
                yield r.NodeFenced(node.node_id, node.epoch, wall_ms - away_ms)


def _loss(machine: ControllerMachine, until_ms: int) -> Loss:
    brokers = machine.image.brokers.values()
    away = [node for node in brokers if node.fenced]
    gone = {node.node_id for node in away if 0 < node.away_since_ms <= until_ms}
    # Who is not registered any more is not waited for.
    gone |= {node_id for node_id in machine.holdings.keepers() if node_id not in machine.image.brokers}
    directories = {
        node.node_id: frozenset(each.directory for each in node.failed_log_dirs if each.since_ms <= until_ms)
        for node in brokers
        if node.failed_log_dirs and not node.fenced
    }
    directories = {node_id: failed for node_id, failed in directories.items() if failed}
    suspended = bool(gone or directories) and len(away) > away_max(len(brokers))
    return Loss(len(away), frozenset(gone), directories, suspended)


def away_max(brokers: int) -> int:
    """How many may be away at a time for their replicas to be made again on the others."""
    return max(1, brokers // 3)


def _kept(machine: ControllerMachine, loss: Loss) -> set[Key]:
    """Partitions with a replica that is gone, those that are on their way elsewhere included."""
    kept = {key for node_id in loss.gone for key in machine.holdings.replicas_on(node_id)}
    for node_id, directories in loss.directories.items():
        for directory in directories:
            kept |= machine.holdings.in_directory(node_id, directory)
    return kept


def _plan(
    machine: ControllerMachine, due: Iterable[Partition], brokers: list[Candidate], loss: Loss
) -> dict[Key, Nodes]:
    """New targets for these, in view of where the rest of their topics is."""
    wanted = {(partition.topic_id, partition.partition) for partition in due}
    topics = {partition.topic_id: machine.image.topic(partition.topic_id) for partition in due}
    partitions = [
        Carried((p.topic_id, p.partition), p.topic_id, target_of(p), leaving=loss.of(p))
        for topic in topics.values()
        if topic is not None
        for p in topic.partitions
    ]
    targets: dict[Key, Nodes] = {}
    for move in replace(partitions, brokers, loss.gone):
        key = move.key
        assert isinstance(key, tuple)
        if key in wanted:
            targets[key] = move.replicas
    return targets


def _setting(machine: ControllerMachine, name: str) -> int:
    value = EffectiveConfigs(machine.image, machine.settings.static).broker_value(name)
    assert isinstance(value, int)
    return value
