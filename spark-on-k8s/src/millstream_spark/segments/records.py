"""The records of batches as Arrow arrays. No Python object is made of a record: the one loop per record finds where it
begins, numpy reads the numbers of all of them at once, and Arrow copies keys, values and headers together by their places.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream_spark.errors import SegmentDamaged
from millstream_spark.segments.batches import Batch
from millstream_spark.segments.columns import ARROW, HEADERS

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fields:
    """Where things lie in the bytes of some records; an end below its start's stands for null."""

    key: Numbers
    key_size: Numbers
    value: Numbers
    value_size: Numbers
    offset_delta: Numbers
    timestamp_delta: Numbers
    headers: Numbers
    """How many of each record."""
    after_value: Numbers
    end: Numbers


class Gather:
    """Collects batches until they are worth an Arrow record batch."""

    def __init__(self, topic: str, partition: int, start: int, end: int, columns: tuple[str, ...], name: str) -> None:
        """`start`, `end`: only the offsets between them are wanted."""
        self._topic, self._partition = topic, partition
        self._start, self._end = start, end
        self._columns = columns
        self._name = name
        self.clear()

    def clear(self) -> None:
        self._batches: list[Batch] = []
        self._parts: list[memoryview] = []
        self.size = 0
        self.rows = 0

    def add(self, batch: Batch, records: memoryview) -> None:
        self._batches.append(batch)
        self._parts.append(records)
        self.size += len(records)
        self.rows += batch.count

    def take(self) -> pa.RecordBatch:
        """Return what was collected, and begin again. Raises SegmentDamaged."""
        data = b"".join(self._parts)
        try:
            arrow = self._arrow(data)
        except (IndexError, OverflowError, UnicodeDecodeError, pa.ArrowInvalid) as error:
            first, last = self._batches[0].first_offset, self._batches[-1].last_offset
            raise SegmentDamaged(f"{self._name}: records between offsets {first} and {last} make no sense") from error
        self.clear()
        return arrow

    def _arrow(self, data: bytes) -> pa.RecordBatch:
        counts = np.array([batch.count for batch in self._batches], np.int64)
        fields = _fields(np.frombuffer(data, np.uint8), self._starts(data))

        def spread(numbers: list[int]) -> Numbers:
            return np.repeat(np.array(numbers, np.int64), counts)

        offsets = spread([batch.first_offset for batch in self._batches]) + fields.offset_delta
        if (offsets > spread([batch.last_offset for batch in self._batches])).any() or (fields.offset_delta < 0).any():
            raise IndexError("an offset beyond its batch's")
        wanted = None
        if offsets[0] < self._start or offsets[-1] >= self._end:
            wanted = np.flatnonzero((offsets >= self._start) & (offsets < self._end))
        out = {}
        if "key" in self._columns or "value" in self._columns:
            pieces = _pieces(data, fields.key, fields.key_size, fields.value, fields.value_size)
            out["key"], out["value"] = _piece(pieces, 0, fields.key_size), _piece(pieces, 2, fields.value_size)
        if "offset" in self._columns:
            out["offset"] = pa.array(offsets)
        if "timestamp" in self._columns:
            appended = spread([batch.is_log_append_time for batch in self._batches])
            base = spread(
                [batch.max_timestamp if batch.is_log_append_time else batch.base_timestamp for batch in self._batches]
            )
            out["timestamp"] = pa.array((base + np.where(appended == 1, 0, fields.timestamp_delta)) * 1000).view(
                ARROW["timestamp"]
            )
        if "timestampType" in self._columns:
            appended = spread([batch.is_log_append_time for batch in self._batches])
            out["timestampType"] = pa.array(appended.astype(np.int32))
        if "headers" in self._columns:
            out["headers"] = _headers(data, fields)
        if "topic" in self._columns:
            out["topic"] = pa.repeat(self._topic, len(offsets))
        if "partition" in self._columns:
            out["partition"] = pa.repeat(pa.scalar(self._partition, pa.int32()), len(offsets))
        arrow = pa.RecordBatch.from_arrays(
            [out[name] for name in self._columns], schema=pa.schema([(name, ARROW[name]) for name in self._columns])
        )
        return arrow if wanted is None else arrow.take(pa.array(wanted))

    def _starts(self, data: bytes) -> Numbers:
        """Return where each record begins: after its length. The only loop over single records."""
        starts: list[int] = []
        append = starts.append
        at = 0
        for batch, part in zip(self._batches, self._parts, strict=True):
            end = at + len(part)
            for _ in range(batch.count):
                length = data[at]
                at += 1
                if length >= 0x80:
                    high = data[at]
                    at += 1
                    length += (high << 7) - 0x80
                    shift = 14
                    while high >= 0x80:
                        length -= 1 << shift
                        high = data[at]
                        at += 1
                        length += high << shift
                        shift += 7
                append(at)
                at += length >> 1
            if at != end:
                raise IndexError("records end elsewhere than their batch")
        starts.append(at)
        return np.array(starts, np.int64)


def _fields(data: npt.NDArray[np.uint8], starts: Numbers) -> Fields:
    """`starts`: of each record after its length, and the end of the last."""
    at, end = starts[:-1] + 1, starts[1:]
    timestamp_delta, at = _varints(data, at)
    offset_delta, at = _varints(data, at)
    key_size, key = _varints(data, at)
    value_size, value = _varints(data, key + np.maximum(key_size, 0))
    headers, after_value = _varints(data, value + np.maximum(value_size, 0))
    # The next record's length lies before its start, so an end is a few bytes late: enough to keep reads inside.
    if (after_value > end).any() or (headers < 0).any() or (headers > end - after_value).any():
        raise IndexError("a field reaches past its record")
    return Fields(key, key_size, value, value_size, offset_delta, timestamp_delta, headers, after_value, end)


def _varints(data: npt.NDArray[np.uint8], at: Numbers) -> tuple[Numbers, Numbers]:
    """Return the zigzag numbers at these places, and the places after them."""
    byte = data[at].astype(np.int64)
    at = at + 1
    numbers = byte & 0x7F
    more = np.flatnonzero(byte >= 0x80)
    shift = 7
    while len(more):
        if shift > 63:
            raise IndexError("a number has no end")
        byte = data[at[more]].astype(np.int64)
        at[more] += 1
        numbers[more] |= (byte & 0x7F) << shift
        more = more[byte >= 0x80]
        shift += 7
    return (numbers >> 1) ^ -(numbers & 1), at


def _pieces(data: bytes, first: Numbers, first_size: Numbers, second: Numbers, second_size: Numbers) -> pa.Array:
    """Return the bytes as they are as an array: first, gap, second and gap of each record in turn."""
    bounds = np.empty(4 * len(first) + 1, np.int32)
    bounds[0:-1:4], bounds[1:-1:4] = first, first + np.maximum(first_size, 0)
    bounds[2:-1:4], bounds[3:-1:4] = second, second + np.maximum(second_size, 0)
    bounds[-1] = len(data)
    if (np.diff(bounds) < 0).any():
        raise IndexError("fields overlap")
    return pa.Array.from_buffers(pa.binary(), 4 * len(first), [None, pa.py_buffer(bounds), pa.py_buffer(data)])


def _piece(pieces: pa.Array, which: int, sizes: Numbers) -> pa.Array:
    absent = sizes < 0
    places = np.arange(which, 4 * len(sizes), 4, dtype=np.int32)
    return pieces.take(pa.array(places, mask=absent if absent.any() else None))


def _headers(data: bytes, fields: Fields) -> pa.Array:
    """Spark's own source gives null, not an empty list, to a record without headers."""
    numbers = np.frombuffer(data, np.uint8)
    at = fields.after_value.copy()
    columns: list[list[Numbers]] = [[], [], [], [], []]
    nth = 0
    while len(having := np.flatnonzero(fields.headers > nth)):
        name_size, name = _varints(numbers, at[having])
        value_size, value = _varints(numbers, name + np.maximum(name_size, 0))
        at[having] = value + np.maximum(value_size, 0)
        if (name_size < 0).any() or (at > fields.end).any():
            raise IndexError("a header reaches past its record")
        for column, found in zip(columns, (having, name, name_size, value, value_size), strict=True):
            column.append(found)
        nth += 1
    counts = fields.headers
    bounds = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    absent = pa.py_buffer(np.packbits(counts > 0, bitorder="little")) if (counts == 0).any() else None
    if nth == 0:
        pairs = pa.array([], HEADERS.value_type)
    else:
        record, name, name_size, value, value_size = (np.concatenate(column) for column in columns)
        order = np.argsort(record, kind="stable")
        pieces = _pieces(data, name[order], name_size[order], value[order], value_size[order])
        names = _piece(pieces, 0, name_size[order]).cast(pa.string())
        pairs = pa.StructArray.from_arrays([names, _piece(pieces, 2, value_size[order])], ["key", "value"])
    return pa.Array.from_buffers(HEADERS, len(counts), [absent, pa.py_buffer(bounds)], children=[pairs])
