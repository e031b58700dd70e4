"""Batches that are written here, by Kafka's description of the format, come back as rows; what is damaged is refused."""

import contextlib
import gzip
from pathlib import Path
from struct import Struct

import pyarrow as pa
import pytest
from crc32c import crc32c

from millstream_spark.errors import SegmentDamaged
from millstream_spark.segments.columns import SPARK
from millstream_spark.segments.directory import Aborted, Segment, Wanted, plan_segments
from millstream_spark.segments.reading import read_segment

HEADER = Struct(">qiibIhiqqqhii")
Record = tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]
"""Offset delta, timestamp delta, key, value, headers."""

RECORDS: list[Record] = [
    (0, 0, b"k", b"v", []),
    (1, -5, None, b"", [("a", b"1"), ("a", None)]),
    (3, 7, b"", None, []),
    (4, 1 << 40, b"x" * 300, b"y" * 20_000, [("name" * 20, b"z" * 200)]),
]


def varint(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def batch(
    base: int,
    records: list[Record],
    *,
    codec: int = 0,
    attributes: int = 0,
    producer_id: int = -1,
    last_delta: int | None = None,
) -> bytes:
    body = b""
    for delta, timestamp, key, value, headers in records:
        told = b"".join(sized(name.encode()) + sized(each) for name, each in headers)
        record = b"\0" + varint(timestamp) + varint(delta) + sized(key) + sized(value) + varint(len(headers)) + told
        body += varint(len(record)) + record
    if codec == 1:
        body = gzip.compress(body)
    elif codec in (3, 4):
        with pa.BufferOutputStream() as sink:
            with pa.CompressedOutputStream(sink, {3: "lz4", 4: "zstd"}[codec]) as stream:
                stream.write(body)
            body = sink.getvalue().to_pybytes()
    elif codec == 2:
        blocks = [pa.compress(body[at : at + 9000], codec="snappy", asbytes=True) for at in range(0, len(body), 9000)]
        body = b"\x82SNAPPY\x00" + bytes(8) + b"".join(len(block).to_bytes(4, "big") + block for block in blocks)
    last = records[-1][0] if last_delta is None else last_delta
    fields = (attributes | codec, last, 1000, 2000, producer_id, 0, 0, len(records))
    packed = HEADER.pack(base, 0, 0, 2, 0, *fields)
    checked = packed[21:] + body
    return HEADER.pack(base, len(packed) + len(body) - 12, 0, 2, crc32c(checked), *fields) + body


def rows(
    path: Path, data: bytes, *, start: int = 0, end: int = 1 << 40, aborted: tuple[Aborted, ...] = ()
) -> list[dict[str, object]]:
    path.write_bytes(data)
    segment = Segment(str(path), "orders", 3, 0, start, end, aborted)
    return [row for arrow in read_segment(segment, tuple(SPARK), None) for row in arrow.to_pylist()]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "00000000000000000000.log"


@pytest.mark.parametrize("codec", range(5))
def test_every_field_of_every_codec_comes_back(log: Path, codec: int) -> None:
    found = rows(log, batch(0, RECORDS[:2], codec=codec) + batch(10, RECORDS, codec=codec))
    assert [row["offset"] for row in found] == [0, 1, 10, 11, 13, 14]
    for row, (_, timestamp, key, value, headers) in zip(found[2:], RECORDS, strict=True):
        assert (row["key"], row["value"], row["partition"], row["topic"]) == (key, value, 3, "orders")
        assert row["timestamp"].timestamp() == (1000 + timestamp) / 1000  # type: ignore[attr-defined]
        told = None if row["headers"] is None else [(each["key"], each["value"]) for each in row["headers"]]  # type: ignore[attr-defined]
        assert told == (headers or None)


def test_a_range_begins_and_ends_inside_batches(log: Path) -> None:
    assert [row["offset"] for row in rows(log, batch(0, RECORDS) + batch(10, RECORDS), start=3, end=11)] == [3, 4, 10]


def test_markers_aborted_records_and_emptied_batches_are_no_rows(log: Path) -> None:
    marker = batch(20, [(0, 0, b"\0\0\0\1", b"\0\0\0\0\0\0", [])], attributes=0x30, producer_id=7)
    data = batch(0, RECORDS, attributes=0x10, producer_id=7) + batch(10, RECORDS, attributes=0x10, producer_id=8)
    data += batch(15, [], last_delta=4) + marker + batch(21, RECORDS, attributes=0x10, producer_id=7)
    found = rows(log, data, aborted=(Aborted(7, 0, 20),))
    assert [row["offset"] for row in found] == [10, 11, 13, 14, 21, 22, 24, 25]


def test_the_brokers_time_counts_where_it_was_asked_for(log: Path) -> None:
    found = rows(log, batch(0, RECORDS[:2], attributes=0x08))
    assert {(row["timestamp"].timestamp(), row["timestampType"]) for row in found} == {(2.0, 1)}  # type: ignore[attr-defined]


@pytest.mark.parametrize("codec", range(5))
def test_every_flipped_bit_and_every_torn_end_is_refused(log: Path, codec: int) -> None:
    whole = batch(0, RECORDS[:3], codec=codec)
    for at in range(16, len(whole)):  # before: offset, length and epoch, which no checksum covers
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        with pytest.raises(SegmentDamaged):
            rows(log, bytes(damaged))
    for length in range(1, len(whole)):
        with pytest.raises(SegmentDamaged, match="torn"):
            rows(log, whole + batch(10, RECORDS[:3], codec=codec)[:length])


@pytest.mark.parametrize("at", range(61, 75))
def test_bytes_that_no_writer_would_write_are_refused_or_rows(log: Path, at: int) -> None:
    """A checksum that fits does not make a record: lengths that lie must not read elsewhere."""
    whole = bytearray(batch(0, RECORDS[:2]))
    for value in range(0, 256, 5):
        whole[at] = value
        whole[17:21] = crc32c(bytes(whole[21:])).to_bytes(4, "big")
        with contextlib.suppress(SegmentDamaged):
            assert len(rows(log, bytes(whole))) == 2


def test_what_is_not_committed_is_not_planned(tmp_path: Path) -> None:
    partition = tmp_path / "orders-0"
    partition.mkdir()
    opened = batch(10, RECORDS, attributes=0x10, producer_id=7)
    for base, data in ((0, batch(0, RECORDS)), (10, opened + batch(15, RECORDS)), (20, batch(20, RECORDS)), (25, b"")):
        (partition / f"{base:020d}.log").write_bytes(data)
    watermark = tmp_path / "replication-offset-checkpoint"

    def planned(committed: int, **wanted: dict[int, int]) -> list[tuple[int, int]]:
        watermark.write_text(f"0\n1\norders 0 {committed}\n")
        found = plan_segments([tmp_path], "orders", Wanted(starts=wanted.get("starts"), ends=wanted.get("ends")))
        return [(segment.start, segment.end) for segment in found]

    assert planned(8) == [(0, 8)]
    # From offset 10 on a transaction is open.
    assert planned(25) == [(0, 10)]
    marker = batch(19, [(0, 0, b"\0\0\0\1", b"\0\0\0\0\0\0", [])], attributes=0x30, producer_id=7)
    (partition / f"{10:020d}.log").write_bytes(opened + batch(15, RECORDS[:2]) + marker)
    assert planned(25) == [(0, 10), (10, 20), (20, 25)]
    assert planned(99, starts={0: 12}, ends={0: 22}) == [(12, 20), (20, 22)]
