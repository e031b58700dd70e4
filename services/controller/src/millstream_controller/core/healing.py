"""A broker that stays away has its replicas made again on others, unasked, a bounded number at a time.

Its replicas stay where they are until the new ones are in sync, as with every reassignment; so nothing is taken from an ISR or an
ELR, and a broker that comes back has lost nothing. If it is in sync again before its replacement is, the replacement is given up.

The clock is in the metadata log (`NodeFenced.since_ms`), so that it goes on whoever is the active controller. While more
brokers are away than should ever be at a time, healing is suspended: that is an outage to be ended, not copies to be made.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from millstream_cluster import records as r
from millstream_cluster.configs import EffectiveConfigs
from millstream_cluster.ids import NodeId
from millstream_cluster.members import Partition
from millstream_cluster.metadata_version import MetadataVersion
from millstream_cluster.placement import Candidate, Carried, replace
from millstream_controller.core.absences import Absences
from millstream_controller.core.holdings import Key
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.reassignments import Nodes, cancelled, reassigned, target_of

TIMEOUT = "broker.replacement.timeout.ms"
MOVES_MAX = "broker.replacement.partitions.max"
NOTED_AFTER_MS = 10_000
"""A broker that only restarts leaves no record of how long it was away."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Who is away: `gone` for so long that others take their place, unless that many are away that it is `suspended`."""

    away: int = 0
    gone: frozenset[NodeId] = frozenset()
    suspended: bool = False


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
        self._begun: dict[Key, _Begun] = {}

    def next_step(
        self, machine: ControllerMachine, absences: Absences, *, now_ms: int, wall_ms: int
    ) -> tuple[r.MetadataRecord, ...]:
        """What is to be done now; `now_ms` is this controller's monotonic clock, `wall_ms` the time of day."""
        timeout_ms = _setting(machine, TIMEOUT)
        if timeout_ms <= 0 or machine.image.metadata_version < MetadataVersion.RELEASE_0_2:
            self.loss = Loss()
            return ()
        noted = tuple(_noted(machine, absences, now_ms=now_ms, wall_ms=wall_ms))
        if noted:
            return noted
        self.loss = _loss(machine, wall_ms - timeout_ms)
        given_up = self._given_up(machine)
        if given_up or self.loss.suspended or not self.loss.gone:
            return given_up
        return self._begin(machine, self.loss.gone)

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

    def _begin(self, machine: ControllerMachine, gone: frozenset[NodeId]) -> tuple[r.PartitionChanged, ...]:
        kept = {key for node_id in gone for key in machine.holdings.replicas_on(node_id)}
        moving = machine.partitions(kept & machine.holdings.moving)
        room = _setting(machine, MOVES_MAX) - sum(gone.isdisjoint(target_of(partition)) for partition in moving)
        if room <= 0:
            return ()
        brokers = machine.carriers()
        due = list(islice(_most_urgent(machine.partitions(kept), brokers, gone), room))
        electorate = Electorate(machine)
        changes = []
        for key, target in _plan(machine, due, brokers, gone):
            partition = machine.image.partition(*key)
            assert partition is not None, "it was found in this image"
            change = reassigned(partition, target, electorate)
            if change is not None:
                begun = self._begun.get(key)
                self._begun[key] = _Begun(partition.replicas if begun is None else begun.before, target)
                changes.append(change)
        return tuple(changes)


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
    return Loss(len(away), frozenset(gone), suspended=bool(gone) and len(away) > away_max(len(brokers)))


def away_max(brokers: int) -> int:
    """How many may be away at a time for their replicas to be made again on the others."""
    return max(1, brokers // 3)


def _most_urgent(
    partitions: Iterable[Partition], brokers: Iterable[Candidate], gone: frozenset[NodeId]
) -> Iterator[Partition]:
    """Those that can be made again, with the fewest copies in sync first: who has no leader has nobody to copy from."""
    takers = {broker.node_id for broker in brokers if broker.accepts} - gone
    able = (
        partition
        for partition in partitions
        if partition.online and not gone.isdisjoint(target_of(partition)) and takers - set(partition.replicas)
    )
    return iter(sorted(able, key=lambda partition: len(partition.isr)))


def _plan(
    machine: ControllerMachine, due: Iterable[Partition], brokers: list[Candidate], gone: frozenset[NodeId]
) -> Iterator[tuple[Key, Nodes]]:
    """New targets for these, in view of where the rest of their topics is."""
    wanted = {(partition.topic_id, partition.partition) for partition in due}
    topics = {partition.topic_id: machine.image.topic(partition.topic_id) for partition in due}
    partitions = [
        Carried((p.topic_id, p.partition), p.topic_id, target_of(p))
        for topic in topics.values()
        if topic is not None
        for p in topic.partitions
    ]
    for move in replace(partitions, brokers, gone):
        key = move.key
        assert isinstance(key, tuple)
        if key in wanted:
            yield key, move.replicas


def _setting(machine: ControllerMachine, name: str) -> int:
    value = EffectiveConfigs(machine.image, machine.settings.static).broker_value(name)
    assert isinstance(value, int)
    return value
