"""What a producer snapshot leaves out: it has the last batch of each producer, who may have had five in flight.

When their acknowledgements got lost with the process, all five come again, and all five have to be known.
"""

import logging
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Final

from millstream_log.producer_state import REMEMBERED_BATCHES, ProducerState
from millstream_log.segment import Segment
from millstream_wire.records import BatchHeader, RecordsError

logger = logging.getLogger(__name__)

_INDEX_ENTRIES: Final = 64  # so far back: some hundred kilobytes of small batches, or as many of the largest
_SEGMENTS: Final = 4  # a snapshot is at the end, or where the last segment began


def recall_batches(segments: Sequence[Segment], producers: ProducerState) -> None:
    """Have the producers of a snapshot remember the batches before it that are still in reach."""
    if not len(producers):
        return
    seen: defaultdict[int, deque[BatchHeader]] = defaultdict(lambda: deque(maxlen=REMEMBERED_BATCHES))
    offset = producers.snapshot_offset
    for segment in _in_reach(segments, offset):
        try:
            for header in _headers_before(segment, offset):
                if header.producer_id >= 0 and not header.is_control:
                    seen[header.producer_id].append(header)
        except RecordsError as error:
            logger.warning("batches of producers not recalled log=%s error=%s", segment.log_path, error)
            return
    for producer_id, headers in seen.items():
        producers.recall(producer_id, headers)


def _in_reach(segments: Sequence[Segment], offset: int) -> Sequence[Segment]:
    """The segment that ends with or holds the offset, and the one before if that one is short."""
    before = [each for each in segments[-_SEGMENTS:] if each.base_offset < offset and each.size]
    return before[-1:] if before and len(before[-1].index) >= _INDEX_ENTRIES else before[-2:]


def _headers_before(segment: Segment, offset: int) -> Iterator[BatchHeader]:
    for _, header in segment.headers(segment.index.position_back(offset, _INDEX_ENTRIES)):
        if header.base_offset >= offset:
            return
        yield header
