"""What a fetch found in a partition, as a consumer sees it: with read_committed, what was aborted is left out."""

from collections.abc import Iterator
from dataclasses import dataclass

from millstream_wire.messages.fetch import PartitionData
from millstream_wire.records import BatchHeader, EndMarker, Record, check, decode_batch, split


@dataclass(frozen=True, slots=True)
class Fetched:
    records: tuple[Record, ...]
    batches: tuple[tuple[BatchHeader, tuple[Record, ...]], ...]
    """Each batch that was looked at, whoever's; control batches with their markers."""
    next_offset: int
    """Where to go on: after markers and what was left out, too."""
    last_stable_offset: int
    high_watermark: int


def fetched_from(answer: PartitionData, offset: int, *, committed: bool) -> Fetched:
    batches = tuple(
        (header, tuple(decode_batch(batch, header)))
        for batch in split(answer.records or b"", torn_tail=True)
        if (header := check(batch)).next_offset > offset
    )
    shown = _committed(answer, batches) if committed else _data(batches)
    return Fetched(
        records=tuple(record for record in shown if record.offset >= offset),
        batches=batches,
        next_offset=batches[-1][0].next_offset if batches else offset,
        last_stable_offset=answer.last_stable_offset,
        high_watermark=answer.high_watermark,
    )


def _data(batches: tuple[tuple[BatchHeader, tuple[Record, ...]], ...]) -> Iterator[Record]:
    for header, records in batches:
        if not header.is_control:
            yield from records


def _committed(answer: PartitionData, batches: tuple[tuple[BatchHeader, tuple[Record, ...]], ...]) -> Iterator[Record]:
    """A producer's records are skipped from where one of its aborted transactions began until its marker."""
    begins = sorted(answer.aborted_transactions or (), key=lambda each: each.first_offset)
    aborting: set[int] = set()
    for header, records in batches:
        while begins and begins[0].first_offset <= header.last_offset:
            aborting.add(begins.pop(0).producer_id)
        if header.is_control:
            marker = EndMarker.decode(records[0])
            if marker is not None and not marker.committed:
                aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            yield from records
