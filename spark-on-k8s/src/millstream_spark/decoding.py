"""What bytes mean, with the schema given. A decoder makes null of what it cannot decode; `decoded` says what becomes of that."""

from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

WHOLE = "whole"
UNPARSED = "_unparsed"
CONFLUENT_FRAME_BYTES = 5


class Decoder(Protocol):
    def column(self, data: Column) -> Column:
        """Return what the bytes mean, null where they cannot be decoded."""


@dataclass(frozen=True, slots=True)
class Text:
    """UTF-8."""

    def column(self, data: Column) -> Column:
        return F.try_validate_utf8(data.cast("string"))


@dataclass(frozen=True, slots=True)
class Json:
    schema: str
    """As in CREATE TABLE: `id BIGINT, amount DOUBLE`. What a record lacks is null, what it has beside them is left out."""

    def column(self, data: Column) -> Column:
        schema = f"{self.schema}, {UNPARSED} STRING"
        parsed = F.from_json(Text().column(data), schema, {"columnNameOfCorruptRecord": UNPARSED})
        return F.when(parsed[UNPARSED].isNull(), parsed.dropFields(UNPARSED))


@dataclass(frozen=True, slots=True)
class Avro:
    schema: str
    """Avro's JSON."""
    confluent: bool = False
    """Whether a schema registry's five bytes come before the record; the schema is the one given all the same."""

    def column(self, data: Column) -> Column:
        # A record of one field is written as that field is. Around ours, so that what cannot be decoded is null and not
        # a row of nulls, which a record may be.
        around = f'{{"type": "record", "name": "around", "fields": [{{"name": "{WHOLE}", "type": {self.schema}}}]}}'
        record = F.substring(data, CONFLUENT_FRAME_BYTES + 1, 2**31 - 1) if self.confluent else data
        return from_avro(record, around, {"mode": "PERMISSIVE"})[WHOLE]


def decoded(name: str, decoder: Decoder | None, *, undecodable: str) -> Column:
    """Return a record's key or value, as bytes without a decoder. `undecodable`: what it then is, `fail` or `null`."""
    data = F.col(name)
    if decoder is None:
        return data
    found = decoder.column(data)
    if undecodable == "fail":
        place = F.concat_ws(" ", F.lit(f"{name} of"), F.col("topic"), F.lit("partition"), F.col("partition"))
        reason = F.concat_ws(" ", place, F.lit("offset"), F.col("offset"), F.lit(f"is not {type(decoder).__name__}"))
        found = F.when(data.isNull() | found.isNotNull(), found).otherwise(F.raise_error(reason))
    return found.alias(name)
