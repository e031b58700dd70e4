"""What a record comes to as one number, computed alike by Spark and by any other reader.

A record is one line of text, `offset timestamp key value headers`: numbers in decimal, the timestamp in milliseconds, bytes
in upper-case hexadecimal, `-` for null; headers as `name=value` with the name's UTF-8 bytes, joined by commas, `-` for none.
Its digest is the first 15 hexadecimal digits of the line's SHA-256. A partition's checksum is the sum of its records' digests:
the order in which they are read does not matter, and a record that is there twice counts twice.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

DIGITS = 15  # 60 bits: what a signed long holds


def record_digest(offset: Column | None = None) -> Column:
    """Return the digest of a row with Kafka's columns; without an offset, the line begins at the timestamp."""
    fields = [F.unix_millis("timestamp").cast("string"), _hex(F.col("key")), _hex(F.col("value")), _headers()]
    if offset is not None:
        fields.insert(0, offset.cast("string"))
    line = F.concat_ws(" ", *fields)
    return F.conv(F.substring(F.sha2(line.cast("binary"), 256), 1, DIGITS), 16, 10).cast("bigint")


def _hex(bytes_: Column) -> Column:
    return F.coalesce(F.hex(bytes_), F.lit("-"))


def _headers() -> Column:
    each = F.transform(
        F.col("headers"),
        lambda header: F.concat_ws("=", F.hex(F.encode(header["key"], "UTF-8")), _hex(header["value"])),
    )
    joined = F.array_join(each, ",")
    return F.when(F.size(F.coalesce(F.col("headers"), F.array())) > 0, joined).otherwise("-")
