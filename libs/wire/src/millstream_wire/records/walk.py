"""The one cost per record in a broker: step over the records of a batch and check that it holds what it claims.

One function over plain `bytes` and local integers, so that the same file can be compiled.
"""

from millstream_wire.records.errors import InvalidRecord


def walk(records: bytes, start: int, end: int, count: int) -> None:
    """Check that `records[start:end]` is exactly `count` records with offset deltas 0, 1, 2, ..."""
    seen = 0
    position = start
    try:
        while position < end:
            byte = records[position]
            position += 1
            length = byte & 0x7F
            shift = 7
            while byte >= 0x80:
                byte = records[position]
                position += 1
                length |= (byte & 0x7F) << shift
                shift += 7
                if shift > 35:
                    raise InvalidRecord(f"record {seen}: a length of more than five bytes")
            following = position + (length >> 1)
            if length & 1 or following > end:
                raise InvalidRecord(f"record {seen} reaches past its batch")
            position += 1  # the attributes, unused in this format
            limit = position + 10
            while records[position] >= 0x80:  # the timestamp delta
                position += 1
                if position >= limit:
                    raise InvalidRecord(f"record {seen}: a timestamp of more than ten bytes")
            position += 1
            byte = records[position]
            position += 1
            delta = byte & 0x7F
            shift = 7
            while byte >= 0x80:
                byte = records[position]
                position += 1
                delta |= (byte & 0x7F) << shift
                shift += 7
                if shift > 35:
                    raise InvalidRecord(f"record {seen}: an offset delta of more than five bytes")
            if delta != seen << 1 or position > following:
                raise InvalidRecord(f"record {seen} does not have its place as offset delta")
            position = following
            seen += 1
    except IndexError:
        raise InvalidRecord(f"record {seen} ends past its batch") from None
    if seen != count:
        raise InvalidRecord(f"{seen} records where the batch declares {count}")
