"""What differs between a topic and what is stored of it: each fault is named, and what explains itself is none."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame

from millstream_spark.audit.comparison import FAULTS, compare_by_offset, compare_in_order
from millstream_spark.spark_session import open_session
from millstream_spark.topic import Span

SCHEMA = "partition int, offset long, timestamp timestamp, key binary, value binary, headers array<struct<key:string,value:binary>>"
Record = tuple[int, int, datetime, bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]


def record(partition: int, offset: int, key: bytes | None = b"k", value: bytes | None = None) -> Record:
    value = f"v{offset}".encode() if value is None else value
    return (
        partition,
        offset,
        datetime.fromtimestamp(1_700_000_000 + offset, UTC),
        key,
        value,
        [("h", b"1"), ("n", None)],
    )


# Offsets 3 and 4 are nobody's record: a marker, an aborted transaction.
TOPIC = [record(partition, offset) for partition in (0, 1) for offset in (0, 1, 2, 5, 6, 7)]
SPANS = {0: Span(0, 8), 1: Span(0, 8)}


def frame(records: list[Record]) -> DataFrame:
    return open_session("audit").createDataFrame(records, SCHEMA)


def found(
    stored: list[Record], *, topic: list[Record] = TOPIC, spans: dict[int, Span] = SPANS, compacted: bool = False
) -> dict[int, Any]:
    rows = compare_by_offset(frame(topic), frame(stored), spans, SPANS, compacted=compacted).collect()
    return {row["partition"]: row for row in rows}


def faults(counted: dict[int, Any]) -> dict[str, int]:
    return {name: count for name in FAULTS if (count := sum(row[name] for row in counted.values()))}


def test_what_is_the_same_has_no_fault_and_the_same_checksum() -> None:
    counted = found(TOPIC)
    assert faults(counted) == {}
    assert [counted[partition]["records"] for partition in (0, 1)] == [6, 6]
    assert counted[0]["checksum"] == counted[0]["stored_checksum"] > 0


@pytest.mark.parametrize(
    ("stored", "expected", "first"),
    [
        ([each for each in TOPIC if each[:2] not in ((1, 6), (1, 7))], {"missing": 2}, 6),  # a lost tail
        ([each for each in TOPIC if each[0] == 0], {"missing": 6}, 0),  # a missing partition
        ([*TOPIC, record(1, 2), record(1, 2)], {"duplicates": 2}, 2),
        ([each for each in TOPIC if each[:2] != (1, 5)] + [record(1, 5, value=b"other")], {"altered": 1}, 5),
        ([each for each in TOPIC if each[:2] != (1, 5)] + [record(1, 5, key=None)], {"altered": 1}, 5),
        ([*TOPIC, record(1, 3)], {"foreign": 1}, 3),  # of an aborted transaction
        ([*TOPIC, record(1, 8)], {"foreign": 1}, 8),  # the topic does not have it yet
    ],
)
def test_each_planted_fault_is_named_and_placed(stored: list[Record], expected: dict[str, int], first: int) -> None:
    counted = found(stored)
    assert faults(counted) == expected
    assert counted[1]["first_fault"] == first
    assert counted[1]["checksum"] != counted[1]["stored_checksum"] or "foreign" in expected
    assert counted[0]["first_fault"] is None


def test_what_retention_took_and_what_is_newer_than_the_end_is_no_fault() -> None:
    topic = [each for each in TOPIC if 2 <= each[1] < 6]
    counted = found(TOPIC, topic=topic, spans={0: Span(2, 6), 1: Span(2, 6)})
    assert faults(counted) == {}
    assert [counted[partition]["expired"] for partition in (0, 1)] == [2, 2]


def test_compaction_explains_only_what_a_later_record_replaced() -> None:
    stored = [record(0, 0, b"a"), record(0, 1, b"b"), record(0, 2, b"a"), record(0, 5, b"c")]
    topic = [record(0, 2, b"a"), record(0, 5, b"c")]
    counted = found(stored, topic=topic, compacted=True)
    assert (counted[0]["replaced"], counted[0]["foreign"], counted[0]["first_fault"]) == (1, 1, 1)
    assert faults(found(stored, topic=topic)) == {"foreign": 2}


def copied(copy: list[Record]) -> dict[int, Any]:
    return {row["partition"]: row for row in compare_in_order(frame(TOPIC), frame(copy)).collect()}


def test_a_copy_may_have_its_own_offsets() -> None:
    counted = copied([(each[0], 100 + 2 * each[1], *each[2:]) for each in TOPIC])
    assert faults(counted) == {}
    assert counted[1]["checksum"] == counted[1]["stored_checksum"]


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        (TOPIC[:-1], {"missing": 1}),
        ([*TOPIC, (1, 9, *TOPIC[-1][2:])], {"duplicates": 1}),
        ([*TOPIC[:-1], record(1, 7, value=b"other")], {"missing": 1, "foreign": 1}),
        ([*TOPIC[:-1], (1, -1, *TOPIC[-1][2:])], {"out_of_order": 6}),
    ],
)
def test_a_copy_that_differs_is_told(copy: list[Record], expected: dict[str, int]) -> None:
    assert faults(copied(copy)) == expected
