"""What bytes mean, and what becomes of those that mean nothing."""

import json
import struct
from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from millstream_spark.decoding import Avro, Decoder, Json, Text, decoded
from millstream_spark.spark_session import open_session

AMOUNT = {"name": "amount", "type": ["null", "double"]}
ORDER = {"type": "record", "name": "order", "fields": [{"name": "id", "type": "long"}, AMOUNT]}
FIRST = b"\x02\x02" + struct.pack("<d", 2.5)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    spark = open_session("decoding")
    yield spark
    spark.stop()


def records(spark: SparkSession, *values: bytes | None) -> DataFrame:
    rows = [("orders", 0, offset, value) for offset, value in enumerate(values)]
    return spark.createDataFrame(rows, "topic string, partition int, offset long, value binary")


def values(rows: DataFrame, decoder: Decoder, undecodable: str = "null") -> list[object]:
    return [row["value"] for row in rows.select(decoded("value", decoder, undecodable=undecodable)).collect()]


def test_json_that_does_not_fit_its_schema_is_null_and_what_it_lacks_is(spark: SparkSession) -> None:
    rows = records(spark, b'{"id": 1, "amount": 2.5, "more": 0}', b'{"id": 1}', b'{"id": "x"}', b"nope", b"", None)
    whole, lacking = Row(id=1, amount=2.5), Row(id=1, amount=None)
    assert values(rows, Json("id BIGINT, amount DOUBLE")) == [whole, lacking, None, None, None, None]


def test_avro_is_read_with_and_without_the_frame_of_a_registry(spark: SparkSession) -> None:
    schema = json.dumps(ORDER)
    assert values(records(spark, FIRST, b"\x02", None), Avro(schema)) == [Row(id=1, amount=2.5), None, None]
    framed = records(spark, b"\x00\x00\x00\x00\x07" + FIRST, b"\x00")
    assert values(framed, Avro(schema, confluent=True)) == [Row(id=1, amount=2.5), None]


def test_an_avro_record_of_nulls_is_not_an_undecodable_one(spark: SparkSession) -> None:
    schema = json.dumps(ORDER | {"fields": [AMOUNT]})
    assert values(records(spark, b"\x00", b"\x02"), Avro(schema), undecodable="null") == [Row(amount=None), None]


def test_text_that_is_not_utf_8_is_null(spark: SparkSession) -> None:
    assert values(records(spark, "é".encode(), b"\xff", b""), Text()) == ["é", None, ""]


def test_what_cannot_be_decoded_is_named_by_its_place(spark: SparkSession) -> None:
    rows = records(spark, b'{"id": 1}', None, b"nope")
    with pytest.raises(PySparkException, match="value of orders partition 0 offset 2 is not Json"):
        values(rows, Json("id BIGINT"), undecodable="fail")
    assert values(rows.where("offset < 2"), Json("id BIGINT"), undecodable="fail") == [Row(id=1), None]
