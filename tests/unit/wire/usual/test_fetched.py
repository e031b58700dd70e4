"""The hand-written reader of answers reads what the codec reads, or leaves it to the codec."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_wire.api import ApiKey
from millstream_wire.codec import DecodeError, decode, encode
from millstream_wire.header import decode_response_header, encode_response_header
from millstream_wire.messages import FetchResponse
from millstream_wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    NodeEndpoint,
    PartitionData,
)
from millstream_wire.usual.fetched import Fetched, read_fetched

VERSIONS = range(13, 19)
TOPIC_IDS = [UUID(int=77), UUID(int=2**127 + 5)]

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
partitions = st.builds(
    PartitionData,
    partition_index=int32,
    high_watermark=int64,
    last_stable_offset=int64,
    log_start_offset=int64,
    aborted_transactions=st.sampled_from([None, []]),
    records=st.builds(lambda size: b"r" * size, st.sampled_from([0, 1, 60, 126, 127, 128, 16_383, 16_384, 300_000])),
)
responses = st.builds(
    FetchResponse,
    session_id=int32,
    responses=st.lists(
        st.builds(
            FetchableTopicResponse,
            topic_id=st.sampled_from(TOPIC_IDS),
            partitions=st.lists(partitions, max_size=3),
        ),
        max_size=3,
    ),
)


def encoded(response: FetchResponse, version: int) -> bytes:
    return encode_response_header(ApiKey.FETCH, version, 9) + encode(response, version)


def read(frame: bytes, version: int) -> Fetched | None:
    """From a view and from bytes, which have to come to the same."""
    found, other = read_fetched(memoryview(bytearray(frame)), version), read_fetched(frame, version)
    assert content(found) == content(other)
    return found


def content(found: Fetched | None) -> object:
    if found is None:
        return None
    return found.session_id, [
        (each.topic, each.index, each.high_watermark, each.log_start_offset, bytes(each.records))
        for each in found.partitions
    ]


def content_of_message(frame: bytes, version: int) -> object:
    _, position = decode_response_header(ApiKey.FETCH, version, frame)
    response = decode(FetchResponse, version, frame[position:])
    assert (response.error_code, response.throttle_time_ms) == (0, 0)
    return response.session_id, [
        (
            topic.topic_id.bytes,
            each.partition_index,
            each.high_watermark,
            each.log_start_offset,
            bytes(each.records or b""),
        )
        for topic in response.responses
        for each in topic.partitions
    ]


@given(responses, st.sampled_from(VERSIONS))
def test_the_same_as_the_codec(response: FetchResponse, version: int) -> None:
    frame = encoded(response, version)
    found = read(frame, version)
    assert found is not None
    assert content(found) == content_of_message(frame, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_whatever_is_different_is_left_to_the_codec(version: int) -> None:
    different: list[dict[str, object]] = [
        {"error_code": 1},
        {"diverging_epoch": EpochEndOffset(epoch=1, end_offset=2)},
        {"aborted_transactions": [AbortedTransaction(producer_id=1)]},
        {"preferred_read_replica": 2},
        {"may_have_gaps": True},
        {"records": None},
    ]
    others = [
        FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC_IDS[0], partitions=[PartitionData(**each)])])  # type: ignore[arg-type]
        for each in different
    ]
    others += [FetchResponse(error_code=70), FetchResponse(throttle_time_ms=1)]
    others += [FetchResponse(node_endpoints=[NodeEndpoint(host="h")])] if version >= 16 else []
    assert [read(encoded(each, version), version) for each in others] == [None] * len(others)
    assert read_fetched(encoded(FetchResponse(), 12), 12) is None


@given(st.binary(max_size=80), st.sampled_from(VERSIONS), responses, st.integers(0, 300), st.integers(0, 255))
def test_any_bytes_give_what_the_codec_gives_or_nothing(
    tail: bytes, version: int, response: FetchResponse, at: int, byte: int
) -> None:
    """Random bytes, and a good answer with one byte changed, cut short or followed by more."""
    good = encoded(response, version)
    spoilt = bytearray(good)
    spoilt[at % len(spoilt)] = byte
    assert read(good + tail, version) is None or not tail
    for frame in (bytes(spoilt), tail, good[: at % len(good)]):
        found = read(frame, version)
        if found is None:
            continue
        try:
            assert content(found) == content_of_message(frame, version)
        except DecodeError:
            pytest.fail("read what the codec refuses")
