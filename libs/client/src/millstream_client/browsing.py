"""Looks into partitions without being their consumer: what is stored at an offset, with the marks that a consumer never sees.

One round of Fetch a call; remembers nothing, and neither retries nor reads ahead.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping

from millstream_client.assignment import TopicPartition
from millstream_client.cluster import REQUEST_TIMEOUT_MS, Cluster, request
from millstream_client.errors import InvalidData, Unreachable, code_of
from millstream_client.fetcher import READ_UNCOMMITTED
from millstream_client.metadata import NO_LEADER
from millstream_runtime.nodes.client import Nodes
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from millstream_wire.records import EndMarker, Record, RecordsError, check, decode_batch, split

_NO_SESSION_EPOCH = -1
FETCH_MAX_BYTES = 16 * 1024 * 1024
PARTITION_MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Stored:
    """One record as it lies in the log."""

    record: Record
    is_control: bool
    commits: bool | None
    """Of the marker that ends a transaction: whether it was committed."""
    is_transactional: bool
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class Piece:
    """What one fetch found in a partition; whole batches, so the first records may be before the offset that was asked for."""

    error: ErrorCode
    batches: memoryview
    first_offset: int
    end_offset: int
    """Where what was written and is in sync ends."""

    def records(self, offset: int) -> Iterator[Stored]:
        """From an offset on; unfolded batch by batch, so that only one of them is in memory. Raises InvalidData."""
        try:
            for batch in split(self.batches, torn_tail=True):
                header = check(batch)
                if header.last_offset < offset:
                    continue
                for record in decode_batch(batch, header):
                    if record.offset < offset:
                        continue
                    marker = EndMarker.decode(record) if header.is_control else None
                    yield Stored(
                        record,
                        header.is_control,
                        None if marker is None else marker.committed,
                        header.is_transactional,
                        header.producer_id,
                        header.producer_epoch,
                    )
        except RecordsError as error:
            raise InvalidData(str(error)) from error


async def browse(
    cluster: Cluster,
    offsets: Mapping[TopicPartition, int],
    *,
    nodes: Nodes | None = None,
    max_wait_ms: int = 0,
    max_bytes: int = FETCH_MAX_BYTES,
    partition_max_bytes: int = PARTITION_MAX_BYTES,
) -> dict[TopicPartition, Piece]:
    """Ask each leader once for what is at these offsets; partitions of which nobody could say anything are left out.

    `nodes`: connections of the caller's own, as a wait blocks the one that it is asked on. A batch of more than
    `partition_max_bytes` comes whole if it is the first one.
    """
    by_leader: defaultdict[int, dict[TopicPartition, int]] = defaultdict(dict)
    for partition, offset in offsets.items():
        topic = await cluster.topic(partition.topic)
        if partition.partition < len(topic.partitions):
            leader_id = topic.partitions[partition.partition].leader_id
            if leader_id != NO_LEADER:
                by_leader[leader_id][partition] = offset
    bounds = (max_wait_ms, max_bytes, partition_max_bytes)
    answers = await asyncio.gather(
        *(_ask(cluster, nodes, leader_id, wanted, bounds) for leader_id, wanted in by_leader.items())
    )
    found = {partition: piece for answer in answers for partition, piece in answer.items()}
    for partition in offsets:
        if partition not in found or found[partition].error.retriable:
            cluster.forget(partition.topic)
    return found


async def _ask(
    cluster: Cluster,
    nodes: Nodes | None,
    leader_id: int,
    offsets: Mapping[TopicPartition, int],
    bounds: tuple[int, int, int],
) -> dict[TopicPartition, Piece]:
    max_wait_ms, max_bytes, partition_max_bytes = bounds
    topics: dict[str, FetchTopic] = {}
    for (name, index), offset in offsets.items():
        known = cluster.known(name)
        if known is None:  # deleted just now
            continue
        topic = topics.setdefault(name, FetchTopic(topic=name, topic_id=known.topic_id))
        topic.partitions.append(
            FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=partition_max_bytes)
        )
    asked = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=READ_UNCOMMITTED,
        session_epoch=_NO_SESSION_EPOCH,
        topics=list(topics.values()),
    )
    timeout_ms = max_wait_ms + REQUEST_TIMEOUT_MS
    try:
        if nodes is None:
            answer: FetchResponse = await cluster.ask(leader_id, asked, timeout_ms=timeout_ms)
        else:
            address = cluster.address(leader_id)
            if address is None:
                return {}
            answer = await request(nodes, address, asked, timeout_ms=timeout_ms)
    except Unreachable:
        return {}
    names = {topic.topic_id: name for name, topic in topics.items()}
    return {
        TopicPartition(topic.topic or names.get(topic.topic_id, ""), each.partition_index): Piece(
            code_of(each.error_code),
            each.records if each.records is not None else memoryview(b""),
            each.log_start_offset,
            each.high_watermark,
        )
        for topic in answer.responses
        for each in topic.partitions
    }
