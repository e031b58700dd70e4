"""Folds records of the metadata log into events. It may begin anywhere in the log: what it has not seen before is said as it is."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.history.departures import Departures, fenced_text
from millstream_cluster.history.event import Event
from millstream_cluster.history.partition import State, changes, first_seen
from millstream_cluster.ids import NO_EPOCH, NO_NODE, NodeId, Role, role_of, uuid_text

Entry: TypeAlias = tuple[int, r.MetadataRecord]
"""A record and when it was appended, in ms since 1970."""

CLUSTER = "cluster"


def events_of(entries: Sequence[Entry], names: Mapping[UUID, str]) -> list[Event]:
    """In the log's order. `names`: of topics that were created before the first entry."""
    course = _Course(Departures(entries), names)
    return [event for index, (time_ms, record) in enumerate(entries) for event in course.next(index, time_ms, record)]


class _Course:
    """What the entries so far add up to, as far as the next one needs it."""

    def __init__(self, departures: Departures, names: Mapping[UUID, str]) -> None:
        self._departures = departures
        self._names = dict(names)
        self._partitions: dict[tuple[UUID, int], State] = {}
        self._nodes: dict[NodeId, r.NodeRegistered] = {}

    def next(self, index: int, time_ms: int, record: r.MetadataRecord) -> Iterator[Event]:
        match record:
            case r.PartitionCreated() | r.PartitionChanged():
                yield from self._partition(index, time_ms, record)
            case r.TopicCreated():
                self._names[record.topic_id] = record.name
                yield Event(time_ms, f"topic {record.name}", "created", topic=record.name)
            case r.TopicDeleted():
                name = self._name(record.topic_id)
                yield Event(time_ms, f"topic {name}", "deleted", topic=name)
            case r.ConfigChanged():
                yield _config(time_ms, record)
            case r.ShardAssigned():
                yield self._shard(time_ms, record)
            case r.ControllerElected() | r.ControllerResigned():
                yield _controller(time_ms, record)
            case r.MetadataVersionSet():
                yield Event(time_ms, CLUSTER, f"metadata.version is {record.level}")
            case r.FeatureLevelSet():
                yield Event(time_ms, CLUSTER, f"{record.name} is {record.level}")
            case r.ClusterCreated():
                yield Event(time_ms, CLUSTER, f"created, with the id {record.cluster_id}")
            case r.NodeRegistered() | r.NodeFenced() | r.NodeUnfenced() | r.NodeLogDirsChanged() | r.NodeUnregistered():
                yield self._node(time_ms, record)
            case _:
                pass

    def _partition(self, index: int, time_ms: int, record: State) -> Iterator[Event]:
        key = (record.topic_id, record.partition)
        before = self._partitions.get(key)
        self._partitions[key] = record
        topic = self._name(record.topic_id)
        told = (
            [first_seen(record)]
            if before is None
            else changes(before, record, lambda node_id: self._departures.why(node_id, index))
        )
        for each in told:
            yield Event(time_ms, f"{topic}-{record.partition}", each.what, each.why, topic, each.nodes - {NO_NODE})

    def _shard(self, time_ms: int, record: r.ShardAssigned) -> Event:
        topic = self._name(record.topic_id)
        owner = record.coordinator_id
        what = f"coordinator {owner} takes care of it" if owner != NO_NODE else "no coordinator takes care of it"
        nodes = frozenset({int(owner)} - {NO_NODE})
        return Event(time_ms, f"{topic}-{record.partition}", what, topic=topic, nodes=nodes)

    def _node(
        self,
        time_ms: int,
        record: r.NodeRegistered | r.NodeFenced | r.NodeUnfenced | r.NodeLogDirsChanged | r.NodeUnregistered,
    ) -> Event:
        what, why = self._of_node(record)
        name = f"{role_of(record.node_id).value} {record.node_id}"
        return Event(time_ms, name, what, why, nodes=frozenset({int(record.node_id)}))

    def _of_node(
        self, record: r.NodeRegistered | r.NodeFenced | r.NodeUnfenced | r.NodeLogDirsChanged | r.NodeUnregistered
    ) -> tuple[str, str]:
        match record:
            case r.NodeRegistered():
                return self._registered(record)
            case r.NodeFenced() if record.since_ms:
                return "away for long: its replicas may be made again on others", ""
            case r.NodeFenced():
                is_broker = role_of(record.node_id) is Role.BROKER
                means = "it leads nothing and is in no ISR" if is_broker else "others take care of its groups"
                return f"fenced: {means}", f"it {fenced_text(record.reason)}"
            case r.NodeUnfenced():
                return "let in", ""
            case r.NodeLogDirsChanged():
                return f"{len(record.log_dirs)} directories left, {len(record.failed)} away for long", ""
            case r.NodeUnregistered():
                self._nodes.pop(record.node_id, None)
                return "unregistered", ""

    def _registered(self, record: r.NodeRegistered) -> tuple[str, str]:
        before = self._nodes.get(record.node_id)
        self._nodes[record.node_id] = record
        where = ", ".join(f"{each.host}:{each.port}" for each in record.listeners)
        if before is None:
            return f"registered, at {where}", ""
        if role_of(record.node_id) is not Role.BROKER:
            return f"registered again, at {where}", ""
        if before.incarnation_id != record.incarnation_id:
            return f"registered again, at {where}", "it came with another disk"
        clean = record.previous_epoch != NO_EPOCH
        return f"registered again, at {where}", "" if clean else "without a proof that it stopped cleanly"

    def _name(self, topic_id: UUID) -> str:
        return self._names.get(topic_id) or uuid_text(topic_id)


def _controller(time_ms: int, record: r.ControllerElected | r.ControllerResigned) -> Event:
    elected = isinstance(record, r.ControllerElected)
    what = f"controller {record.controller_id} {'is active' if elected else 'stops'}, epoch {record.epoch}"
    return Event(time_ms, CLUSTER, what, nodes=frozenset({int(record.controller_id)}))


def _config(time_ms: int, record: r.ConfigChanged) -> Event:
    kind = record.resource_type.value.lower().replace("_", " ")
    about = f"{kind} {record.resource_name}" if record.resource_name else f"all {kind}s"
    what = f"{record.key} = {record.value}" if record.value is not None else f"{record.key} is back to its default"
    is_broker = record.resource_type is r.ResourceType.BROKER and record.resource_name.isdecimal()
    return Event(
        time_ms,
        about,
        what,
        topic=record.resource_name if record.resource_type is r.ResourceType.TOPIC else None,
        nodes=frozenset({int(record.resource_name)}) if is_broker else frozenset(),
    )
