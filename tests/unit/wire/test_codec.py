"""Bytes to messages and back: what an outside oracle cannot say, and hostile bytes."""

import random
import struct
import uuid
from typing import Any

import pytest
from generated_messages import MESSAGES, STORED, examples, generate, versions_of
from hypothesis import given
from hypothesis import strategies as st

from millstream_wire.codec import (
    DecodeError,
    decode,
    decode_embedded,
    decode_stored,
    encode,
    encode_parts,
    encode_stored,
)
from millstream_wire.compile import REQUEST_ELEMENTS_MAX
from millstream_wire.messages import (
    ApiVersionsResponse,
    DescribeTopicPartitionsRequest,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    OffsetFetchRequest,
    ProduceRequest,
)
from millstream_wire.messages.api_versions import ApiVersion
from millstream_wire.messages.describe_topic_partitions import Cursor
from millstream_wire.messages.fetch import FetchableTopicResponse, FetchTopic, PartitionData
from millstream_wire.messages.metadata import MetadataRequestTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.primitive import write_uvarint
from millstream_wire.stored import ConsumerProtocolSubscription, OffsetCommitKey, OffsetCommitValue

EVERY_VERSION = [(cls, version) for cls in MESSAGES for version in versions_of(cls)]


def test_every_message_and_version_comes_back() -> None:
    for cls, version in EVERY_VERSION:
        for message in examples(cls, version, 2):
            data = encode(message, version)
            assert decode(cls, version, data) == message, (cls.__name__, version)
            assert b"".join(bytes(part) for part in encode_parts(message, version)) == data  # type: ignore[arg-type]


def test_heartbeat_by_hand() -> None:
    message = HeartbeatRequest(group_id="g", generation_id=1, member_id="m", group_instance_id=None)
    assert encode(message, 0) == b"\x00\x01g\x00\x00\x00\x01\x00\x01m"
    assert encode(message, 3) == b"\x00\x01g\x00\x00\x00\x01\x00\x01m\xff\xff"
    assert encode(message, 4) == b"\x02g\x00\x00\x00\x01\x02m\x00\x00"


def test_a_field_that_a_version_lacks_is_dropped_and_takes_its_default() -> None:
    message = HeartbeatRequest(group_id="g", group_instance_id="static-1")
    assert decode(HeartbeatRequest, 2, encode(message, 2)) == HeartbeatRequest(group_id="g")
    assert decode(HeartbeatRequest, 3, encode(message, 3)) == message


def test_a_field_until_a_version() -> None:
    topic_id = uuid.UUID(int=7)
    message = FetchRequest(topics=[FetchTopic(topic="t", topic_id=topic_id)])
    assert decode(FetchRequest, 12, encode(message, 12)).topics == [FetchTopic(topic="t")]
    assert decode(FetchRequest, 13, encode(message, 13)).topics == [FetchTopic(topic_id=topic_id)]


def test_an_array_that_only_newer_versions_may_leave_null() -> None:
    assert decode(MetadataRequest, 1, encode(MetadataRequest(topics=None), 1)).topics is None
    with pytest.raises(DecodeError, match="topics is null"):
        decode(MetadataRequest, 0, b"\xff\xff\xff\xff")


def test_a_struct_may_be_null() -> None:
    for cursor in (None, Cursor(topic_name="t", partition_index=3)):
        message = DescribeTopicPartitionsRequest(cursor=cursor)
        assert decode(DescribeTopicPartitionsRequest, 0, encode(message, 0)) == message


def test_tagged_fields_travel_only_when_they_differ() -> None:
    plain = ApiVersionsResponse(api_keys=[ApiVersion(api_key=18, max_version=4)])
    assert encode(plain, 3).endswith(b"\x00\x00\x00\x00\x00\x00")
    told = ApiVersionsResponse(finalized_features_epoch=9)
    data = encode(told, 3)
    assert data.endswith(b"\x01\x01\x08" + struct.pack(">q", 9))
    assert decode(ApiVersionsResponse, 3, data) == told


def test_unknown_tags_are_skipped() -> None:
    data = encode(HeartbeatRequest(group_id="g"), 4)
    assert data.endswith(b"\x00")
    with_tags = data[:-1] + b"\x02" + b"\x05\x03abc" + b"\x06\x00"
    assert decode(HeartbeatRequest, 4, with_tags) == HeartbeatRequest(group_id="g")


def test_a_tagged_field_must_be_as_long_as_it_says() -> None:
    good = encode(ApiVersionsResponse(finalized_features_epoch=9), 3)
    short = good[:-10] + b"\x01\x07" + good[-8:]
    with pytest.raises(DecodeError, match="tagged"):
        decode(ApiVersionsResponse, 3, short)


def produce(records: Any) -> ProduceRequest:
    data = PartitionProduceData(index=1, records=records)
    return ProduceRequest(acks=-1, timeout_ms=5, topic_data=[TopicProduceData(name="t", partition_data=[data])])


def test_records_are_views_into_the_frame() -> None:
    frame = bytearray(encode(produce(b"batch"), 9))
    records = decode(ProduceRequest, 9, memoryview(frame)).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    frame[frame.index(b"batch")] = ord("B")
    assert bytes(records) == b"Batch"


class Slice:
    """Stands for a piece of a file."""

    def __len__(self) -> int:
        return 100_000


def test_what_has_a_length_is_passed_on_as_it_is() -> None:
    view, piece, large = memoryview(b"view"), Slice(), bytes(10_000)
    partitions = [PartitionData(partition_index=i, records=records) for i, records in enumerate((view, piece, large))]
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])
    parts = encode_parts(response, 11)
    assert [part for part in parts if part is view or part is piece or part is large] == [view, piece, large]
    assert len(parts) == 6  # a large batch ends with the message, and nothing follows it
    assert sum(len(part) for part in parts) == len(encode(response_with(bytes(4), bytes(100_000), large), 11))


def response_with(*batches: bytes) -> FetchResponse:
    partitions = [PartitionData(partition_index=i, records=batch) for i, batch in enumerate(batches)]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


def test_empty_and_null_records() -> None:
    for records in (None, b""):
        message = produce(records)
        assert decode(ProduceRequest, 9, encode(message, 9)) == message


def test_versions_that_do_not_exist() -> None:
    for version in (-1, 5, 99):
        with pytest.raises(DecodeError):
            decode(HeartbeatRequest, version, b"")
        with pytest.raises(ValueError, match="no version"):
            encode(HeartbeatRequest(), version)


# -- hostile bytes


@pytest.mark.parametrize(
    ("version", "data"),
    [
        pytest.param(0, b"", id="nothing"),
        pytest.param(0, b"\x00\x05g", id="string longer than the frame"),
        pytest.param(0, b"\xff\xff\x00\x00\x00\x01\x00\x01m", id="null where there may be none"),
        pytest.param(0, b"\x00\x01\xff\x00\x00\x00\x01\x00\x01m", id="not UTF-8"),
        pytest.param(4, b"\xff\xff\xff\xff\xff\xff\x01", id="varint without end"),
        pytest.param(4, b"\xff\xff\xff\xff\x7f", id="length of 32 GiB"),
        pytest.param(4, b"\x02g\x00\x00\x00\x01\x02m\x00\xff\xff\xff\xff\x0f", id="4 billion tags"),
        pytest.param(4, b"\x02g\x00\x00\x00\x01\x02m\x00\x01\x05\x7f", id="tag longer than the frame"),
    ],
)
def test_bytes_that_are_no_heartbeat(version: int, data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode(HeartbeatRequest, version, data)


def test_bytes_after_a_request_mean_nothing_but_an_answer_has_none() -> None:
    """librdkafka's Metadata for all topics writes the null array four bytes wide where one is enough (its #5049)."""
    request = decode(MetadataRequest, 13, bytes.fromhex("00000000010000"))
    assert request.topics is None
    with pytest.raises(DecodeError, match="ends at"):
        decode(HeartbeatResponse, 0, bytes(3))


@pytest.mark.parametrize(("version", "count"), [(1, b"\x7f\xff\xff\xff"), (9, b"\xff\xff\xff\xff\x07")])
def test_an_array_cannot_claim_more_elements_than_there_are_bytes(version: int, count: bytes) -> None:
    with pytest.raises(DecodeError, match="more elements"):
        decode(MetadataRequest, version, count + bytes(50))


def test_a_request_cannot_have_more_elements_than_anybody_needs() -> None:
    """Two bytes each, in 100 MiB: they would keep everybody waiting for half a minute, in gigabytes of memory."""
    at_most = REQUEST_ELEMENTS_MAX
    few = encode(MetadataRequest(topics=[MetadataRequestTopic(name="")] * 10), 9)
    assert len(decode(MetadataRequest, 9, few).topics or []) == 10
    many = write_uvarint(at_most + 2) + b"\x01\x00" * (at_most + 1) + bytes(4)
    with pytest.raises(DecodeError, match="more than"):
        decode(MetadataRequest, 9, many)
    # The same in many arrays, each within the bounds.
    partitions = struct.pack(">i", 40_000) + bytes(160_000)
    spread = struct.pack(">i", 30) + (b"\x00\x01t" + partitions) * 30
    with pytest.raises(DecodeError, match="more than"):
        decode(OffsetFetchRequest, 1, b"\x00\x01g" + spread)


def test_every_message_cut_short_is_refused() -> None:
    for cls, version in EVERY_VERSION:
        data = encode(generate(cls, version, 1), version)
        for end in {end for end in (0, 1, len(data) // 2, len(data) - 1) if 0 <= end < len(data)}:
            with pytest.raises(DecodeError):
                decode(cls, version, memoryview(data)[:end])


def test_damaged_messages_give_a_message_or_a_decode_error() -> None:
    source = random.Random(1)
    for cls, version in EVERY_VERSION:
        data = encode(generate(cls, version, 2), version)
        for _ in range(40 if data else 0):
            damaged = bytearray(data)
            for _ in range(source.choice([1, 1, 2, 8])):
                damaged[source.randrange(len(damaged))] = source.choice([0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)])
            try:
                decode(cls, version, bytes(damaged))
            except DecodeError:
                continue


@given(st.sampled_from(EVERY_VERSION), st.binary(max_size=200))
def test_any_bytes_give_a_message_or_a_decode_error(which: tuple[type[Any], int], data: bytes) -> None:
    cls, version = which
    try:
        message = decode(cls, version, data)
    except DecodeError:
        return
    assert type(message) is cls


# -- stored records


def test_stored_records_carry_their_version() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=2)
    assert encode_stored(key, 1) == b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x02"
    assert decode_stored(OffsetCommitKey, encode_stored(key, 1)) == key
    for cls in STORED:
        for version in versions_of(cls):
            for value in examples(cls, version, 4):
                assert decode_stored(cls, encode_stored(value, version)) == value


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x05" + bytes(30), b"\x00\x03" + bytes(3)])
def test_bytes_that_are_no_stored_record(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_stored(OffsetCommitValue, data)


def test_an_embedded_value_of_a_newer_version_is_read_as_far_as_we_know_it() -> None:
    value = ConsumerProtocolSubscription(topics=["t"], generation_id=4, rack_id="r")
    newer = b"\x00\x09" + encode_stored(value, 3)[2:] + b"more"
    assert decode_embedded(ConsumerProtocolSubscription, newer) == value
    with pytest.raises(DecodeError):
        decode_embedded(ConsumerProtocolSubscription, newer[:-6])
    with pytest.raises(DecodeError):
        decode_stored(ConsumerProtocolSubscription, newer)
