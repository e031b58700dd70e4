"""The hand-written Fetch is the codec's: what is read here is what the codec reads, and what is written here it reads again."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_wire.codec import DecodeError, decode, encode
from millstream_wire.header import decode_request_header
from millstream_wire.messages import FetchRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic, ReplicaState
from millstream_wire.usual.fetch_request import FetchAsked, PartitionAsked, read_fetch, write_fetch

VERSIONS = range(13, 19)
TOPIC_IDS = [UUID(int=77), UUID(int=2**127 + 5)]

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
partitions = st.builds(
    FetchPartition,
    partition=int32,
    current_leader_epoch=int32,
    fetch_offset=int64,
    last_fetched_epoch=int32,
    log_start_offset=int64,
    partition_max_bytes=int32,
)
requests = st.builds(
    FetchRequest,
    replica_id=int32,
    replica_state=st.builds(ReplicaState, replica_id=int32, replica_epoch=int64),
    max_wait_ms=int32,
    min_bytes=int32,
    max_bytes=int32,
    isolation_level=st.integers(0, 1),
    session_id=int32,
    session_epoch=int32,
    topics=st.lists(
        st.builds(FetchTopic, topic_id=st.sampled_from(TOPIC_IDS), partitions=st.lists(partitions, max_size=3)),
        max_size=3,
    ),
)


def read(body: bytes, version: int, prefix: bytes = b"header") -> FetchAsked | None:
    """From a view and from bytes, which have to come to the same."""
    found = read_fetch(memoryview(bytearray(prefix + body)), len(prefix), version)
    other = read_fetch(prefix + body, len(prefix), version)
    assert content(found) == content(other)
    return found


def content(found: FetchAsked | None) -> object:
    if found is None:
        return None
    replica = (found.replica_id, found.replica_epoch)
    limits = (found.max_wait_ms, found.min_bytes, found.max_bytes, found.isolation_level)
    return replica, limits, (found.session_id, found.session_epoch), [*map(partition_content, found.partitions)]


def partition_content(each: PartitionAsked) -> object:
    offsets = (each.fetch_offset, each.log_start_offset, each.max_bytes, each.cannot_append)
    return each.topic, each.index, each.current_leader_epoch, each.last_fetched_epoch, offsets


def content_of_message(request: FetchRequest, version: int) -> object:
    state = request.replica_state
    replica = (state.replica_id, state.replica_epoch) if version >= 15 else (request.replica_id, -1)
    limits = (request.max_wait_ms, request.min_bytes, request.max_bytes, request.isolation_level)
    asked = [
        (
            topic.topic_id,
            part.partition,
            part.current_leader_epoch,
            part.last_fetched_epoch,
            (part.fetch_offset, part.log_start_offset, part.partition_max_bytes, part.cannot_append),
        )
        for topic in request.topics
        for part in topic.partitions
    ]
    return replica, limits, (request.session_id, request.session_epoch), asked


@given(requests, st.sampled_from(VERSIONS))
def test_the_same_as_the_codec(request: FetchRequest, version: int) -> None:
    body = encode(request, version)
    found = read(body, version)
    assert found is not None
    assert content(found) == content_of_message(decode(FetchRequest, version, body), version)


@pytest.mark.parametrize("version", VERSIONS)
def test_whatever_is_different_is_left_to_the_codec(version: int) -> None:
    topic = FetchTopic(topic_id=TOPIC_IDS[0], partitions=[FetchPartition(cannot_append=True)])
    many = FetchTopic(topic_id=TOPIC_IDS[0], partitions=[FetchPartition(partition=i) for i in range(127)])
    others = [
        FetchRequest(topics=[topic]),
        FetchRequest(topics=[many]),
        FetchRequest(cluster_id="c"),
        FetchRequest(metadata_version=3),
        FetchRequest(rack_id="a"),
        FetchRequest(forgotten_topics_data=[ForgottenTopic(topic_id=TOPIC_IDS[0], partitions=[1])]),
        FetchRequest(isolation_level=-1),
    ]
    assert [read(encode(each, version), version) for each in others] == [None] * len(others)


def test_versions_that_name_topics_are_left_to_the_codec() -> None:
    for version in range(4, 13):
        assert read(encode(FetchRequest(), version), version) is None


@given(st.binary(max_size=80), st.sampled_from(VERSIONS), requests, st.integers(0, 300), st.integers(0, 255))
def test_any_bytes_give_what_the_codec_gives_or_nothing(
    tail: bytes, version: int, request: FetchRequest, at: int, byte: int
) -> None:
    """Random bytes, and a good request with one byte changed, cut short or followed by more."""
    good = encode(request, version)
    spoilt = bytearray(good)
    spoilt[at % len(spoilt)] = byte
    assert read(good + tail, version) is None or not tail
    for body in (bytes(spoilt), tail, good[: at % len(good)]):
        found = read(body, version)
        if found is None:
            continue
        try:
            message = decode(FetchRequest, version, body)
        except DecodeError:
            pytest.fail("read what the codec refuses")
        assert content(found) == content_of_message(message, version)


asked_partitions = st.builds(
    PartitionAsked, st.sampled_from(TOPIC_IDS), int32, int32, int64, int32, int64, int32, st.just(False)
)


@given(
    st.sampled_from(VERSIONS),
    int32,
    st.builds(
        FetchAsked, int32, int64, int32, int32, int32, st.integers(0, 1), int32, int32, st.lists(asked_partitions)
    ),
)
def test_the_codec_reads_what_is_written(version: int, correlation_id: int, asked: FetchAsked) -> None:
    written = write_fetch(version, correlation_id, b"broker-1", asked)
    if version < 15:
        assert written is None
        return
    assert written is not None
    header, position = decode_request_header(written)
    assert (header.api_key, header.version, header.correlation_id, header.client_id) == (
        1,
        version,
        correlation_id,
        "broker-1",
    )
    assert content(asked) == content_of_message(decode(FetchRequest, version, written, position), version)


@pytest.mark.parametrize("more", [{"forgotten": [(TOPIC_IDS[0], 1)]}, {"rack_id": "a"}])
def test_what_is_unusual_is_not_written(more: dict[str, object]) -> None:
    def asked(*partitions: PartitionAsked, **others: object) -> FetchAsked:
        return FetchAsked(1, 2, 3, 4, 5, 0, 6, 7, list(partitions), **others)  # type: ignore[arg-type]

    assert write_fetch(17, 1, b"c", asked()) is not None
    assert write_fetch(17, 1, b"c", asked(**more)) is None
    refusing = PartitionAsked(TOPIC_IDS[0], 1, 2, 3, 4, 5, 6, cannot_append=True)
    assert write_fetch(17, 1, b"c", asked(refusing)) is None
    usual = PartitionAsked(TOPIC_IDS[0], 1, 2, 3, 4, 5, 6)
    assert write_fetch(17, 1, b"c", asked(*[usual] * 127)) is None
