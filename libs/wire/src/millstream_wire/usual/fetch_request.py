"""The Fetch that followers and consumers send again and again, read and written by hand: topics by their ids, nothing unusual.

What it reads is what the codec reads of the same bytes, and what it writes the codec reads again (a test compares them). Whatever
looks different, hostile bytes included, is left to the codec.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias
from uuid import UUID

from librt.strings import BytesWriter, read_i32_be, read_i64_be, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import i16, i32, i64, mypyc_attr

from millstream_wire.primitive import uuid_of
from millstream_wire.usual.fetch_response import TOPIC_IDS_SINCE

REPLICA_STATE_SINCE: Final = 15
"""From here on followers say in which life they are."""

_FETCH: Final = 1  # the API key
_LAST_SMALL: Final = 0x7F
_UUID_BYTES: Final = 16
_PARTITION_BYTES: Final = 32
_FIXED_BYTES: Final = 21  # from the longest wait to the session's epoch
_EMPTY: Final = 1
_NO_TAGS: Final = 0
_ONE_TAG: Final = 1
_REPLICA_TAG: Final = 1
_REPLICA_BYTES: Final = 13
_READ_MAX_BYTES: Final = 64 * 1024
_NO_REPLICA: Final = -1

Topic: TypeAlias = str | UUID
"""Its name where the request has names, its id where it has ids."""


@mypyc_attr(acyclic=True)
class PartitionAsked:
    """What is wanted of one partition."""

    __slots__ = (
        "cannot_append",
        "current_leader_epoch",
        "fetch_offset",
        "index",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "topic",
    )

    def __init__(
        self,
        topic: Topic,
        index: i32,
        current_leader_epoch: i32,
        fetch_offset: i64,
        last_fetched_epoch: i32,
        log_start_offset: i64,
        max_bytes: i32,
        cannot_append: bool = False,
    ) -> None:
        self.topic = topic
        self.index = index
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.max_bytes = max_bytes
        self.cannot_append = cannot_append


@mypyc_attr(acyclic=True)
class FetchAsked:
    """A Fetch of any version as whoever serves it needs it."""

    __slots__ = (
        "forgotten",
        "isolation_level",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "partitions",
        "rack_id",
        "replica_epoch",
        "replica_id",
        "session_epoch",
        "session_id",
    )

    def __init__(
        self,
        replica_id: i32,
        replica_epoch: i64,
        max_wait_ms: i32,
        min_bytes: i32,
        max_bytes: i32,
        isolation_level: int,
        session_id: i32,
        session_epoch: i32,
        partitions: list[PartitionAsked],
        forgotten: Sequence[tuple[Topic, int]] = (),
        rack_id: str = "",
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.partitions = partitions
        self.forgotten = forgotten
        self.rack_id = rack_id


def read_fetch(frame: bytes | memoryview, position: i64, version: i64) -> FetchAsked | None:
    """Read the body at `position`, which has to end with the frame; None if it is not of this form."""
    if version < TOPIC_IDS_SINCE or len(frame) > _READ_MAX_BYTES:
        return None
    try:
        return _read(frame if isinstance(frame, bytes) else bytes(frame), position, version)
    except (IndexError, ValueError):
        return None


def _read(content: bytes, position: i64, version: i64) -> FetchAsked | None:
    at: i64 = position
    replica_id: i32 = _NO_REPLICA
    replica_epoch: i64 = _NO_REPLICA
    if version < REPLICA_STATE_SINCE:
        replica_id = read_i32_be(content, at)
        at += 4
    max_wait_ms = read_i32_be(content, at)
    min_bytes = read_i32_be(content, at + 4)
    max_bytes = read_i32_be(content, at + 8)
    isolation_level = content[at + 12]
    session_id = read_i32_be(content, at + 13)
    session_epoch = read_i32_be(content, at + 17)
    at += _FIXED_BYTES
    topics: i64 = content[at]
    at += 1
    if isolation_level > _LAST_SMALL or not 0 < topics <= _LAST_SMALL:
        return None
    partitions: list[PartitionAsked] = []
    while topics > 1:
        count: i64 = content[at + _UUID_BYTES]
        topic = uuid_of(content[at : at + _UUID_BYTES])
        at += _UUID_BYTES + 1
        if not 0 < count <= _LAST_SMALL:
            return None
        while count > 1:
            partitions.append(_partition(topic, content, at))
            if content[at + _PARTITION_BYTES]:  # tags
                return None
            at += _PARTITION_BYTES + 1
            count -= 1
        if content[at]:
            return None
        at += 1
        topics -= 1
    if content[at] != _EMPTY or content[at + 1] != _EMPTY:  # what is forgotten, and the rack
        return None
    at += 2
    if content[at] == _ONE_TAG and version >= REPLICA_STATE_SINCE:
        if content[at + 1] != _REPLICA_TAG or content[at + 2] != _REPLICA_BYTES or content[at + 15]:
            return None
        replica_id = read_i32_be(content, at + 3)
        replica_epoch = read_i64_be(content, at + 7)
        at += 2 + _REPLICA_BYTES
    elif content[at]:
        return None
    if at + 1 != len(content):
        return None
    return FetchAsked(
        replica_id,
        replica_epoch,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        partitions,
    )


def _partition(topic: UUID, content: bytes, at: i64) -> PartitionAsked:
    return PartitionAsked(
        topic,
        read_i32_be(content, at),
        read_i32_be(content, at + 4),
        read_i64_be(content, at + 8),
        read_i32_be(content, at + 16),
        read_i64_be(content, at + 20),
        read_i32_be(content, at + 28),
    )


def write_fetch(version: i16, correlation_id: i32, client_id: bytes, asked: FetchAsked) -> bytes | None:
    """The whole request, header included, of a follower; None if it is not of this form."""
    partitions = asked.partitions
    if version < REPLICA_STATE_SINCE or asked.forgotten or asked.rack_id or len(partitions) >= _LAST_SMALL:
        return None
    request = BytesWriter()
    write_i16_be(request, _FETCH)
    write_i16_be(request, version)
    write_i32_be(request, correlation_id)
    write_i16_be(request, len(client_id))
    request.write(client_id)
    request.append(_NO_TAGS)
    write_i32_be(request, asked.max_wait_ms)
    write_i32_be(request, asked.min_bytes)
    write_i32_be(request, asked.max_bytes)
    request.append(asked.isolation_level)
    write_i32_be(request, asked.session_id)
    write_i32_be(request, asked.session_epoch)
    request.append(len(partitions) + 1)
    for each in partitions:  # each with its topic: only few of them are ever told at a time
        topic = each.topic
        if not isinstance(topic, UUID) or each.cannot_append:
            return None
        request.write(topic.bytes)
        request.append(_EMPTY + 1)
        write_i32_be(request, each.index)
        write_i32_be(request, each.current_leader_epoch)
        write_i64_be(request, each.fetch_offset)
        write_i32_be(request, each.last_fetched_epoch)
        write_i64_be(request, each.log_start_offset)
        write_i32_be(request, each.max_bytes)
        request.append(_NO_TAGS)
        request.append(_NO_TAGS)
    request.append(_EMPTY)
    request.append(_EMPTY)
    request.append(_ONE_TAG)
    request.append(_REPLICA_TAG)
    request.append(_REPLICA_BYTES)
    write_i32_be(request, asked.replica_id)
    write_i64_be(request, asked.replica_epoch)
    request.append(_NO_TAGS)
    request.append(_NO_TAGS)
    return request.getvalue()
