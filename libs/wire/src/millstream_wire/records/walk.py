"""The one cost per record in a broker: step over the records of a batch and check that it holds what it claims.

The file that gains most from being compiled (`compiled/`): hence plain `bytes`, and locals that are machine integers
there and ordinary ones elsewhere. The loop spells out the numbers of one and two bytes, and the missing headers, that nearly all
records have; what is longer goes through `_step`, and other fields through the survey's check.
"""

from mypy_extensions import i64

from millstream_wire.records.errors import InvalidRecord
from millstream_wire.records.survey import check_fields

_LENGTH_BYTES = 5
_TIMESTAMP_BYTES = 10


def walk(records: bytes, start: int, end: int, count: int) -> None:
    """Check that `records[start:end]` is exactly `count` whole records with offset deltas 0, 1, 2, ..."""
    if end > len(records):
        raise InvalidRecord(f"{len(records)} bytes of records where {end} were promised")
    limit: i64 = end
    seen: i64 = 0
    position: i64 = start
    try:
        while position < limit:
            at: i64 = position
            length: i64 = records[at]
            at += 1
            if length >= 0x80:
                high: i64 = records[at]
                at += 1
                if high >= 0x80:
                    position = _step(records, position, end, seen)
                    seen += 1
                    continue
                length += (high << 7) - 0x80
            following: i64 = at + (length >> 1)
            at += 1  # the attributes, unused in this format
            if records[at] >= 0x80:  # the timestamp delta
                at += 1
                if records[at] >= 0x80:
                    position = _step(records, position, end, seen)
                    seen += 1
                    continue
            low: i64 = records[at + 1]
            if low < 0x80:
                at += 2
                if low != seen << 1 or at > following:
                    raise InvalidRecord(f"record {seen} does not have its place as offset delta")
            else:
                last: i64 = records[at + 2]
                at += 3
                if last >= 0x80 or low - 0x80 + (last << 7) != seen << 1 or at > following:
                    position = _step(records, position, end, seen)
                    seen += 1
                    continue
            if length & 1 or following > limit:
                raise InvalidRecord(f"record {seen} reaches past its batch")
            position = following
            # What nearly all records have: a short key or none, a value of up to 8 KiB or none, no headers.
            fields: i64 = at
            key: i64 = records[at]
            at += 1
            if key & 0x81 == 0:
                at += key >> 1
            if (key == 1 or key & 0x81 == 0) and at < following:
                value: i64 = records[at]
                at += 1
                if value >= 0x80:
                    value += (records[at] << 7) - 0x80
                    at += 1
                if value & 1 == 0:
                    at += value >> 1
                if at + 1 == following and records[at] == 0 and (value == 1 or value & 1 == 0) and value < 0x4000:
                    seen += 1
                    continue
            check_fields(records, fields, following, seen)
            seen += 1
    except IndexError:
        raise InvalidRecord(f"record {seen} ends past its batch") from None
    if seen != count:
        raise InvalidRecord(f"{seen} records where the batch declares {count}")


def _step(records: bytes, position: int, end: int, seen: int) -> int:
    """Check one record with numbers of any length; return where the next begins."""
    length, position = _number(records, position, _LENGTH_BYTES)
    following = position + (length >> 1)
    if length & 1 or following > end:
        raise InvalidRecord(f"record {seen} reaches past its batch")
    _, position = _number(records, position + 1, _TIMESTAMP_BYTES)
    delta, position = _number(records, position, _LENGTH_BYTES)
    if delta != seen << 1 or position > following:
        raise InvalidRecord(f"record {seen} does not have its place as offset delta")
    check_fields(records, position, following, seen)
    return following


def _number(records: bytes, position: int, bytes_max: int) -> tuple[int, int]:
    """Return a zigzag number as it is encoded, and the position after it."""
    value = 0
    for i in range(bytes_max):
        byte = records[position + i]
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value, position + i + 1
    raise InvalidRecord(f"a number of more than {bytes_max} bytes")
