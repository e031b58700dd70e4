"""The hand-written reader reads what the codec reads, or leaves it to the codec."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_wire.codec import DecodeError, decode, encode
from millstream_wire.messages import ProduceRequest
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.usual.produce_request import (
    COMPACT_SINCE,
    FIRST_VERSION,
    TOPIC_IDS_SINCE,
    SingleProduce,
    compact_name,
    read_single,
)

VERSIONS = range(FIRST_VERSION, 14)
TOPIC_ID = UUID(int=77)


def request(records: bytes | None, *, name: str = "orders", partitions: int = 1, topics: int = 1) -> ProduceRequest:
    data = [PartitionProduceData(index=3 + i, records=records) for i in range(partitions)]
    topic = TopicProduceData(name=name, topic_id=TOPIC_ID, partition_data=data)
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic] * topics)


def read(body: bytes, version: int, prefix: bytes = b"header") -> SingleProduce | None:
    """From a view and from bytes, which have to come to the same."""
    found = read_single(memoryview(bytearray(prefix + body)), len(prefix), version)
    other = read_single(prefix + body, len(prefix), version)
    assert _content(found) == _content(other)
    return found


def named(topic_id: UUID, name: str, version: int) -> str | bytes:
    if version >= TOPIC_IDS_SINCE:
        return topic_id.bytes
    return compact_name(name) if version >= COMPACT_SINCE else name


def _content(found: SingleProduce | None) -> tuple[object, ...] | None:
    if found is None:
        return None
    return found.acks, found.timeout_ms, found.topic, found.encoded_topic, found.index, bytes(found.records)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [0, 1, 100, 126, 127, 128, 16_382, 16_383, 3_000_000])
@pytest.mark.parametrize("name", ["t", "x" * 126])
def test_the_same_as_the_codec(version: int, size: int, name: str) -> None:
    found = read(encode(request(b"r" * size, name=name), version), version)
    assert found is not None
    assert (found.acks, found.timeout_ms, found.index, bytes(found.records)) == (-1, 1000, 3, b"r" * size)
    assert found.topic == named(TOPIC_ID, name, version)


@pytest.mark.parametrize("version", range(3, 14))
def test_whatever_is_different_is_left_to_the_codec(version: int) -> None:
    transactional = request(b"r")
    transactional.transactional_id = "mine"
    others = [
        transactional,
        request(None),
        request(b"r", partitions=2),
        request(b"r", topics=2),
        request(b"r", topics=0),
    ]
    others += [request(b"r", name="x" * 127)] if 9 <= version < 13 else []
    others += [request(b"r", name="x" * 250), request(b"r", name="")] if version < 13 else []
    assert [read(encode(each, version), version) for each in others] == [None] * len(others)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_cut_short_or_followed_by_more_is_left_to_the_codec(version: int) -> None:
    body = encode(request(b"r" * 200), version)
    assert [read(body[:end], version) for end in range(len(body))] == [None] * len(body)
    assert read(body + b"\0", version) is None
    if version >= COMPACT_SINCE:
        assert read(body[:-1] + b"\1", version) is None


@given(st.binary(max_size=60), st.sampled_from(VERSIONS), st.integers(0, 200), st.integers(0, 255))
def test_any_bytes_give_what_the_codec_gives_or_nothing(tail: bytes, version: int, at: int, byte: int) -> None:
    """Random bytes, and a good request with one byte changed."""
    spoilt = bytearray(encode(request(b"r" * 150), version))
    spoilt[at % len(spoilt)] = byte
    for body in (bytes(spoilt), tail, b"\0" + tail):
        found = read(body, version)
        if found is None:
            continue
        try:
            message = decode(ProduceRequest, version, body)
        except DecodeError:
            assert isinstance(found.topic, bytes), "read what the codec refuses"
            assert not found.topic.isascii(), "read what the codec refuses"
            continue
        (topic,) = message.topic_data
        (data,) = topic.partition_data
        assert data.records is not None
        assert (found.acks, found.timeout_ms) == (message.acks, message.timeout_ms)
        assert (found.index, bytes(found.records)) == (data.index, bytes(data.records))
        assert found.topic == named(topic.topic_id, topic.name, version)
