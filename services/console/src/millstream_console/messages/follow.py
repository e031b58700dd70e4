"""What is written to a topic, as it comes: a stream of events for one page, bounded in what it holds and in how fast it tells."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from millstream_client import LATEST, Cluster, Refused, TopicPartition
from millstream_client.browsing import browse
from millstream_client.cluster import Backoff
from millstream_client.offsets import find_offsets
from millstream_console.messages.row import Wanted, row_of
from millstream_wire.errors import ErrorCode

ROWS_MAX = 50
"""Of one event: who writes more than a person can read is shown the newest, and counted."""
PAUSE_MS = 250
WAIT_MS = 1_000
PIECE_BYTES = 256 * 1024
ROUND_BYTES = 4 * 1024 * 1024
_PATIENCE_MS = 5_000


async def follow(
    cluster: Cluster, topic: str, partitions: Sequence[int], wanted: Wanted
) -> AsyncGenerator[dict[str, Any], None]:
    """Never ends: an event for each round, with no rows if nothing came. Raises KafkaError."""
    tails = [TopicPartition(topic, each) for each in partitions]
    offsets = await find_offsets(cluster, dict.fromkeys(tails, LATEST), timeout_ms=_PATIENCE_MS)
    nodes = cluster.connections()  # a long poll blocks its connection
    backoff = Backoff()
    try:
        while True:
            pieces = await browse(
                cluster,
                offsets,
                nodes=nodes,
                max_wait_ms=WAIT_MS,
                max_bytes=ROUND_BYTES,
                partition_max_bytes=PIECE_BYTES,
            )
            rows: deque[dict[str, Any]] = deque(maxlen=ROWS_MAX)
            count = 0
            for partition, piece in pieces.items():
                if piece.error is ErrorCode.OFFSET_OUT_OF_RANGE:
                    offsets |= await find_offsets(cluster, {partition: LATEST}, timeout_ms=_PATIENCE_MS)
                    continue
                if piece.error is not ErrorCode.NONE and not piece.error.retriable:
                    raise Refused(piece.error, subject=str(partition))
                for stored in piece.records(offsets[partition]):
                    offsets[partition] = stored.record.offset + 1
                    if wanted.takes(stored):
                        rows.append(row_of(partition.partition, stored))
                        count += 1
            yield {"rows": sorted(rows, key=_when), "left_out": count - len(rows)}
            if len(pieces) < len(offsets) or any(piece.error.retriable for piece in pieces.values()):
                await backoff.wait()
            else:
                backoff.reset()
                await asyncio.sleep(PAUSE_MS / 1000)
    finally:
        await nodes.close()


def _when(row: dict[str, Any]) -> tuple[int, int, int]:
    return row["timestamp"] or 0, row["partition"], row["offset"]


def event(document: dict[str, Any]) -> bytes:
    """As browsers read a stream of events."""
    return b"data: " + json.dumps(document, separators=(",", ":")).encode() + b"\n\n"
