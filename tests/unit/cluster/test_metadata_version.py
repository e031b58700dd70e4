"""What each level of metadata.version has: the first is release 0.1.0, byte for byte."""

from dataclasses import MISSING, fields, replace
from typing import Any, get_args
from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.errors import MetadataTooNew, RecordError
from millstream_cluster.metadata_version import FIELDS_SINCE, NEWEST, OLDEST, TYPES_SINCE, MetadataVersion, field_since
from millstream_cluster.records import decode_record, encode_record

TOPIC = UUID(int=7)
BY_RELEASE_0_1_0: list[tuple[r.MetadataRecord, str]] = [
    (r.ClusterCreated("c"), '{"cluster_id":"c"}'),
    (r.ControllerElected(20_000, 3, "h", 9093), '{"controller_id":20000,"epoch":3,"host":"h","port":9093}'),
    (r.ControllerResigned(20_000, 3), '{"controller_id":20000,"epoch":3}'),
    (
        r.NodeRegistered(1, 9, UUID(int=8), (r.Endpoint("PLAINTEXT", "h", 9092),), "rack"),
        '{"node_id":1,"epoch":9,"incarnation_id":"AAAAAAAAAAAAAAAAAAAACA",'
        '"listeners":[{"name":"PLAINTEXT","host":"h","port":9092}],"rack":"rack"}',
    ),
    (r.NodeFenced(1, 9), '{"node_id":1,"epoch":9}'),
    (r.NodeUnfenced(1, 9), '{"node_id":1,"epoch":9}'),
    (r.NodeUnregistered(1, 9), '{"node_id":1,"epoch":9}'),
    (
        r.TopicCreated("grüße", TOPIC, internal=False),
        '{"name":"grüße","topic_id":"AAAAAAAAAAAAAAAAAAAABw","internal":false}',
    ),
    (
        r.PartitionCreated(TOPIC, 0, (1, 2), (1,), 1, 4, 5),
        '{"topic_id":"AAAAAAAAAAAAAAAAAAAABw","partition":0,"replicas":[1,2],"isr":[1],"leader":1,"leader_epoch":4,'
        '"partition_epoch":5}',
    ),
    (
        r.PartitionChanged(TOPIC, 0, (1, 2), (), -1, 5, 6),
        '{"topic_id":"AAAAAAAAAAAAAAAAAAAABw","partition":0,"replicas":[1,2],"isr":[],"leader":-1,"leader_epoch":5,'
        '"partition_epoch":6}',
    ),
    (r.TopicDeleted(TOPIC), '{"topic_id":"AAAAAAAAAAAAAAAAAAAABw"}'),
    (
        r.ConfigChanged(r.ResourceType.TOPIC, "t", "retention.ms", None),
        '{"resource_type":"TOPIC","resource_name":"t","key":"retention.ms","value":null}',
    ),
    (
        r.ClientQuotaChanged(
            (r.QuotaEntity(r.QuotaEntityType.USER, None), r.QuotaEntity(r.QuotaEntityType.CLIENT_ID, "x")),
            "producer_byte_rate",
            1e6,
        ),
        '{"entity":[{"type":"user","name":null},{"type":"client-id","name":"x"}],"key":"producer_byte_rate",'
        '"value":1000000.0}',
    ),
    (r.FeatureLevelSet("group.version", 1), '{"name":"group.version","level":1}'),
    (r.ProducerIdsAllocated(1000), '{"next_producer_id":1000}'),
    (
        r.ShardAssigned(TOPIC, 1, 10_001, 5, -1),
        '{"topic_id":"AAAAAAAAAAAAAAAAAAAABw","partition":1,"coordinator_id":10001,"producer_id":5,"producer_epoch":-1}',
    ),
]
TYPES = {cls.__name__: cls for cls in get_args(r.MetadataRecord)}


def name_of(value: Any) -> str | None:
    return type(value).__name__ if type(value).__name__ in TYPES else None


@pytest.mark.parametrize(("record", "written"), BY_RELEASE_0_1_0, ids=name_of)
def test_what_the_first_release_wrote_is_written_and_read_at_every_level(record: Any, written: str) -> None:
    for level in MetadataVersion:
        assert encode_record(record, level) == (type(record).__name__.encode(), written.encode())
    assert decode_record(type(record).__name__.encode(), written.encode()) == record


def test_every_type_of_the_first_release_is_among_them() -> None:
    assert {type(record).__name__ for record, _ in BY_RELEASE_0_1_0} == TYPES.keys() - TYPES_SINCE.keys()


CHANGED = r.PartitionChanged(TOPIC, 0, (1, 2, 3), (1,), 1, 5, 6)
REGISTERED = r.NodeRegistered(1, 9, UUID(int=8), (), None)
PARTITION_NEWS: dict[str, Any] = {
    "adding_replicas": (3,),
    "removing_replicas": (2,),
    "eligible_leader_replicas": (2,),
    "last_known_elr": (3,),
    "leader_recovery_state": r.LeaderRecoveryState.RECOVERING,
    "directories": (UUID(int=1), UUID(int=2), UUID(int=3)),
}
NODE_NEWS: dict[str, Any] = {
    "log_dirs": (UUID(int=5), UUID(int=6)),
    "features": (r.FeatureRange("metadata.version", 7, 25),),
    "previous_epoch": 4,
}
NEWS = [
    *((r.PartitionCreated(TOPIC, 0, (1, 2, 3), (1,), 1, 4, 5), name, value) for name, value in PARTITION_NEWS.items()),
    *((CHANGED, name, value) for name, value in PARTITION_NEWS.items()),
    *((REGISTERED, name, value) for name, value in NODE_NEWS.items()),
    (r.NodeFenced(1, 9), "since_ms", 1_700_000_000_000),
    (r.NodeFenced(1, 9), "reason", r.FenceReason.DIED),
]


@pytest.mark.parametrize(("record", "field", "value"), NEWS, ids=str)
def test_a_field_is_written_from_its_level_on_and_never_lost_below_it(record: Any, field: str, value: Any) -> None:
    with_it = replace(record, **{field: value})
    since = field_since(type(record).__name__, field)
    assert since is MetadataVersion.RELEASE_0_2
    for level in MetadataVersion:
        if level < since:
            with pytest.raises(RecordError, match=f"{field} needs metadata.version {since}"):
                encode_record(with_it, level)
        else:
            assert decode_record(*encode_record(with_it, level)) == with_it


def test_the_fields_that_came_with_a_level_are_those_that_have_a_default() -> None:
    later = {(name, field.name) for name, cls in TYPES.items() for field in fields(cls) if field.default is not MISSING}
    assert later == FIELDS_SINCE.keys()
    assert later == {(type(record).__name__, field) for record, field, _ in NEWS}
    assert TYPES.keys() >= TYPES_SINCE.keys()


def test_a_type_is_written_from_its_level_on() -> None:
    with pytest.raises(RecordError, match=r"MetadataVersionSet needs metadata\.version 25"):
        encode_record(r.MetadataVersionSet(NEWEST), OLDEST)
    assert decode_record(*encode_record(r.MetadataVersionSet(NEWEST), NEWEST)) == r.MetadataVersionSet(NEWEST)


@pytest.mark.parametrize("level", [NEWEST + 1, 99])
def test_a_level_of_a_later_release_is_named_with_what_to_do(level: int) -> None:
    with pytest.raises(
        MetadataTooNew, match=rf"metadata.version is {level} and this release reads up to 25: start this"
    ):
        decode_record(b"MetadataVersionSet", b'{"level":%d}' % level)
