"""What a Fetch found in one partition, and what of it its client has to be told."""

from collections.abc import Sequence
from typing import NamedTuple

from millstream_broker.core.reads.fetch_session import FetchKey, FetchPartition
from millstream_broker.shell.epoch_ends import end_of_epoch
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_cluster.ids import NO_NODE
from millstream_log import AbortedTransaction as Aborted
from millstream_log import EpochEnd, Read
from millstream_wire.errors import ErrorCode


class PartitionRead(NamedTuple):
    key: FetchKey
    wanted: FetchPartition
    code: ErrorCode
    replica: HostedPartition | None
    read: Read | None
    aborted: "Sequence[Aborted]" = ()
    """Of what was read, for who reads committed records."""
    diverging: EpochEnd | None = None
    preferred: int = NO_NODE
    """Who should be asked instead."""


def diverging(key: FetchKey, wanted: FetchPartition, replica: HostedPartition) -> PartitionRead | None:
    """Say where the reader's log diverged from this one, if it did."""
    ended = end_of_epoch(replica, wanted.last_fetched_epoch)
    if ended.epoch < 0:
        return PartitionRead(key, wanted, ErrorCode.OFFSET_OUT_OF_RANGE, replica, None)
    if ended.epoch == wanted.last_fetched_epoch and ended.end_offset >= wanted.fetch_offset:
        return None
    return PartitionRead(key, wanted, ErrorCode.NONE, replica, None, diverging=ended)


def is_news(each: PartitionRead) -> bool:
    """Whether the client of a session has to be told; an error always."""
    if each.replica is None or each.code is not ErrorCode.NONE:
        return True
    is_told = each.read is not None or each.diverging is not None or each.preferred >= 0
    return is_told or each.wanted.is_news(each.replica.partition.high_watermark, each.replica.log.log_start_offset)


def note_told(each: PartitionRead) -> None:
    if each.replica is None or each.code is not ErrorCode.NONE:
        each.wanted.told_error()
    else:
        each.wanted.told(each.replica.partition.high_watermark, each.replica.log.log_start_offset)


def release(reads: list[PartitionRead]) -> None:
    for each in reads:
        if each.read is not None:
            each.read.slice.release()
