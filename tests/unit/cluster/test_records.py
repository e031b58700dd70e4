from contextlib import suppress
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.acls import Acl, AclOperation, AclPattern, AclPermission, AclResource
from millstream_cluster.errors import RecordError
from millstream_cluster.metadata_version import NEWEST, MetadataVersion
from millstream_cluster.records import (
    AclAdded,
    Endpoint,
    MetadataRecord,
    MetadataVersionSet,
    NodeRegistered,
    decode_record,
    encode_record,
)

st.register_type_strategy(UUID, st.uuids())
st.register_type_strategy(float, st.floats(allow_nan=False))
st.register_type_strategy(
    MetadataVersionSet, st.builds(MetadataVersionSet, st.sampled_from([int(level) for level in MetadataVersion]))
)
for each in object.__subclasses__():
    if str(each.__module__).startswith("millstream_cluster.") and hasattr(each, "__dataclass_fields__"):
        with suppress(TypeError):
            each()  # the first call writes __init__, whose arguments a strategy is made from
any_record: st.SearchStrategy[Any] = st.one_of([st.from_type(cls) for cls in get_args(MetadataRecord)])


@given(any_record)
def test_every_record_survives_its_json(record: MetadataRecord) -> None:
    assert decode_record(*encode_record(record, NEWEST)) == record


def test_the_json_is_for_people() -> None:
    record = NodeRegistered(1, 2, UUID(int=1), (Endpoint("PLAINTEXT", "h", 9092),), None)
    assert encode_record(record, NEWEST) == (
        b"NodeRegistered",
        b'{"node_id":1,"epoch":2,"incarnation_id":"AAAAAAAAAAAAAAAAAAAAAQ",'
        b'"listeners":[{"name":"PLAINTEXT","host":"h","port":9092}],"rack":null}',
    )


def test_acls_are_written_in_words() -> None:
    acl = Acl(AclResource.TOPIC, AclPattern.PREFIXED, "t-", "User:a", "*", AclOperation.READ, AclPermission.DENY)
    key, value = encode_record(AclAdded.of(UUID(int=1), acl), NEWEST)
    assert key == b"AclAdded"
    assert value == (
        b'{"acl_id":"AAAAAAAAAAAAAAAAAAAAAQ","resource":"TOPIC","pattern":"PREFIXED","name":"t-","principal":"User:a",'
        b'"host":"*","operation":"READ","permission":"DENY"}'
    )
    with pytest.raises(RecordError):
        decode_record(key, value.replace(b'"READ"', b'"LOOK"'))
    with pytest.raises(RecordError):
        encode_record(AclAdded.of(UUID(int=1), acl), MetadataVersion.RELEASE_0_1)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"ClusterCreated", None),
        (b"NoSuchRecord", b"{}"),
        (b"\xff", b"{}"),
        (b"ClusterCreated", b"{}"),
        (b"ClusterCreated", b"[]"),
        (b"ClusterCreated", b"not json"),
        (b"ClusterCreated", b'{"cluster_id":7}'),
        (b"ClusterCreated", b'{"cluster_id":"x","from_the_future":1}'),
        (b"TopicDeleted", b'{"topic_id":"short"}'),
        (b"ProducerIdsAllocated", b'{"next_producer_id":true}'),
        (b"ClusterCreated", b"[" * 100_000),
    ],
)
def test_what_this_version_cannot_read_is_an_error_never_skipped(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(RecordError):
        decode_record(key, value)


@given(st.sampled_from([cls.__name__.encode() for cls in get_args(MetadataRecord)]), st.binary())
def test_any_bytes_are_a_record_or_a_record_error(key: bytes, value: bytes) -> None:
    with suppress(RecordError):
        decode_record(key, value)
