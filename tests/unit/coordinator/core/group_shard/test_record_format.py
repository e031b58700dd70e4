"""The bytes of `__consumer_offsets`, byte for byte as Kafka writes them."""

import pytest

from millstream_coordinator.core.classic.records import GroupRemoved, GroupStored
from millstream_coordinator.core.classic.stored_group import StoredGroup
from millstream_coordinator.core.group_shard.record_format import decode_record, encode_record, size_of
from millstream_coordinator.core.group_shard.records import CommittedOffset, OffsetCommitted, OffsetRemoved
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_wire.codec import DecodeError


def test_an_offset_as_kafka_writes_it() -> None:
    committed = CommittedOffset(offset=258, leader_epoch=4, metadata="m", commit_timestamp_ms=1_000)
    key, value = encode_record(OffsetCommitted("grp", "tp", 7, committed))
    assert key == b"\0\1" + b"\0\3grp" + b"\0\2tp" + b"\0\0\0\7"
    assert value == b"\0\3" + (258).to_bytes(8, "big") + b"\0\0\0\4" + b"\0\1m" + (1_000).to_bytes(8, "big")
    assert encode_record(OffsetRemoved("grp", "tp", 7)) == (key, None)
    assert size_of(OffsetRemoved("grp", "tp", 7)) >= len(key)


def test_an_empty_group_as_kafka_writes_it() -> None:
    group = StoredGroup(
        group_id="grp", protocol_type="consumer", generation=2, protocol=None, leader=None, state_timestamp_ms=9
    )
    key, value = encode_record(GroupStored(group))
    assert key == b"\0\2\0\3grp"
    assert value == (
        b"\0\3" + b"\0\x08consumer" + b"\0\0\0\2" + b"\xff\xff" + b"\xff\xff" + (9).to_bytes(8, "big") + b"\0\0\0\0"
    )
    assert encode_record(GroupRemoved("grp")) == (key, None)


def test_offsets_of_older_and_newer_kafkas_are_read() -> None:
    key = b"\0\0" + b"\0\3grp" + b"\0\2tp" + b"\0\0\0\7"
    at = (5).to_bytes(8, "big")
    time = (1).to_bytes(8, "big")
    committed = CommittedOffset(offset=5, commit_timestamp_ms=1)
    wanted = OffsetCommitted("grp", "tp", 7, committed)
    assert decode_record(key, b"\0\0" + at + b"\0\0" + time) == wanted
    assert decode_record(key, b"\0\1" + at + b"\0\0" + time + time) == wanted
    version_4 = b"\0\4" + at + b"\xff\xff\xff\xff" + b"\1" + time + b"\1" + b"\0\x10" + bytes(16)
    assert decode_record(key, version_4) == wanted


def test_the_claim_has_a_key_of_our_own() -> None:
    key, value = encode_record(ShardClaimed(10_001, 3))
    assert key == b"MS"
    assert decode_record(key, value) == ShardClaimed(10_001, 3)


@pytest.mark.parametrize("kind", [4, 9, 17, 20_000])
def test_kinds_of_other_releases_are_left_alone(kind: int) -> None:
    assert decode_record(kind.to_bytes(2, "big") + b"whatever", b"anything") is None


@pytest.mark.parametrize(
    ("key", "value"), [(None, b""), (b"\0", b""), (b"\0\1x", b""), (b"\0\2\0\1g", b"\0\x09"), (b"MS", b"")]
)
def test_what_cannot_be_read_is_an_error(key: bytes | None, value: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_record(key, value)
