"""What a broker looks for inside records: missing keys, timestamps. One pass, nothing made of the records.

Compiled (`compiled/`), for the sake of compressed batches: a megabyte of them can unfold to a million records, and whoever
sends one must not keep the other clients waiting. Positions are machine integers there; timestamps are not, since theirs are
the sender's to choose and may add up to anything.
"""

from mypy_extensions import i64

from millstream_wire.records.errors import InvalidRecord

_NUMBER_BYTES = 5
_TIMESTAMP_BYTES = 10


def keyless(records: bytes, at_most: int) -> list[int]:
    """Check every record in full; the indexes of the first records without a key."""
    found: list[int] = []
    end: i64 = len(records)
    position: i64 = 0
    index: i64 = 0
    while position < end:
        position, following = _limits(records, position, end)
        _, position = _timestamp_delta(records, position, following)
        _, position = _number(records, position, following)
        if check_fields(records, position, following, index) < 0 and len(found) < at_most:
            found.append(index)
        position = following
        index += 1
    return found


def check_fields(records: bytes, position: i64, end: i64, index: i64) -> i64:
    """Check that key, value and headers of a record fill `records[position:end]`; the length of the key, -1 if it is null."""
    key, position = _number(records, position, end)
    position = _skip(key, position, end)
    value, position = _number(records, position, end)
    position = _skip(value, position, end)
    if _headers_end(records, position, end) != end:
        raise InvalidRecord(f"record {index} ends early")
    return key


def untimely(records: bytes, base_timestamp: int, earliest: int, latest: int, at_most: int) -> list[tuple[int, int]]:
    """Index and timestamp of the first records outside `[earliest, latest]`; -1 is no timestamp, and fits anywhere."""
    found: list[tuple[int, int]] = []
    end: i64 = len(records)
    position: i64 = 0
    index: i64 = 0
    while position < end and len(found) < at_most:
        position, following = _limits(records, position, end)
        delta, position = _timestamp_delta(records, position, following)
        timestamp = base_timestamp + delta
        if timestamp != -1 and not earliest <= timestamp <= latest:
            found.append((index, timestamp))
        position = following
        index += 1
    return found


def first_since(records: bytes, base_timestamp: int, timestamp: int, least_offset_delta: int) -> tuple[int, int] | None:
    """Timestamp and offset delta of the first record, from an offset delta on, that is not older than `timestamp`."""
    end: i64 = len(records)
    position: i64 = 0
    least: i64 = least_offset_delta
    while position < end:
        position, following = _limits(records, position, end)
        delta, position = _timestamp_delta(records, position, following)
        offset_delta, position = _number(records, position, following)
        if offset_delta >= least and base_timestamp + delta >= timestamp:
            return base_timestamp + delta, offset_delta
        position = following
    return None


def _limits(records: bytes, position: i64, end: i64) -> tuple[i64, i64]:
    """Where the record that begins here has its timestamp, behind length and attributes, and where it ends."""
    length, position = _number(records, position, end)
    if length < 1 or position + length > end:
        raise InvalidRecord(f"a record of {length} bytes with {end - position} left")
    return position + 1, position + length


def _number(records: bytes, position: i64, end: i64) -> tuple[i64, i64]:
    """A zigzag number of 32 bits, and the position after it."""
    value: i64 = 0
    shift: i64 = 0
    for _ in range(_NUMBER_BYTES):
        if position >= end:
            raise InvalidRecord("a record ends inside a number")
        byte: i64 = records[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
    raise InvalidRecord(f"a number of more than {_NUMBER_BYTES} bytes")


def _timestamp_delta(records: bytes, position: i64, end: i64) -> tuple[int, i64]:
    value = 0
    for i in range(_TIMESTAMP_BYTES):
        if position >= end:
            raise InvalidRecord("a record ends inside a number")
        byte: int = records[position]
        position += 1
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
    raise InvalidRecord(f"a number of more than {_TIMESTAMP_BYTES} bytes")


def _skip(length: i64, position: i64, end: i64) -> i64:
    """The position behind a field that may be null."""
    if length < 0:
        if length != -1:
            raise InvalidRecord(f"a field of {length} bytes")
        return position
    if position + length > end:
        raise InvalidRecord(f"a field of {length} bytes with {end - position} left in its record")
    return position + length


def _headers_end(records: bytes, position: i64, end: i64) -> i64:
    count, position = _number(records, position, end)
    if count < 0 or count > end - position:
        raise InvalidRecord(f"{count} headers with {end - position} bytes left in their record")
    for _ in range(count):
        name, position = _number(records, position, end)
        if name < 0:
            raise InvalidRecord("a header without a name")
        position = _skip(name, position, end)
        value, position = _number(records, position, end)
        position = _skip(value, position, end)
    return position
