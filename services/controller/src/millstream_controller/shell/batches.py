"""Metadata records as Kafka record batches, and back: the one form of both stores, of Fetch and of snapshots.

The first record of each appended batch carries who appended it and the how-manieth append of that writer it was.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from millstream_cluster.metadata_version import MetadataVersion
from millstream_cluster.records import MetadataRecord, MetadataVersionSet, decode_record, encode_record
from millstream_wire.records import Compression, Record, check, decode_batch, encode_batch, split

WRITER_HEADER = "writer"
COMPRESS_FROM_BYTES = 16_384
"""The fifty partitions and shards of a coordinator's topic stay below it: the codec is 2 MB that many a node never needs otherwise."""
COMPRESS_SNAPSHOT_FROM_BYTES = 4_096
_SNAPSHOT_BATCH_RECORDS = 100
"""A few milliseconds of work: what serves beside it waits for one batch at most."""
RECORDS_BYTES_MAX = 64 << 20


def encode_records(
    records: Sequence[MetadataRecord],
    *,
    level: MetadataVersion,
    base_offset: int,
    epoch: int,
    timestamp_ms: int,
    writer: str | None,
    compress_from: int = COMPRESS_FROM_BYTES,
) -> bytes:
    """One batch of these records, in a log of this level before them; compressed where that is worth it."""
    headers = ((WRITER_HEADER, writer.encode()),) if writer is not None else ()
    encoded = []
    size = 0
    for index, record in enumerate(records):
        if isinstance(record, MetadataVersionSet):
            level = MetadataVersion(record.level)
        key, value = encode_record(record, level)
        size += len(key) + len(value)
        encoded.append(Record(base_offset + index, timestamp_ms, key, value, headers if index == 0 else ()))
    compression = Compression.ZSTD if size > compress_from else Compression.NONE
    return encode_batch(encoded, base_offset=base_offset, leader_epoch=epoch, compression=compression)


def decode_records(data: bytes) -> Iterator[tuple[int, MetadataRecord]]:
    """The records of these batches with their offsets; anything unreadable raises."""
    for batch in split(data):
        header = check(batch)
        for record in decode_batch(batch, header, limit=RECORDS_BYTES_MAX):
            yield record.offset, decode_record(record.key, record.value)


def snapshot_batches(
    records: Iterable[MetadataRecord], *, level: MetadataVersion, epoch: int, timestamp_ms: int
) -> Iterator[bytes]:
    """A snapshot, a batch at a time; their offsets only count the snapshot's own records."""
    rest = iter(records)
    start = 0
    while part := list(islice(rest, _SNAPSHOT_BATCH_RECORDS)):
        yield encode_records(
            part,
            level=level,
            base_offset=start,
            epoch=epoch,
            timestamp_ms=timestamp_ms,
            writer=None,
            compress_from=COMPRESS_SNAPSHOT_FROM_BYTES,
        )
        start += len(part)
