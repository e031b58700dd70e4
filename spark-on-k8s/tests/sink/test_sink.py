"""The sink against a real broker: batches half made on purpose, drivers killed, what it refuses."""

import random
import shutil
import uuid
from collections import Counter
from pathlib import Path

import pytest
from broker import Sent, Topics
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from sinkside import SinkQuery

from millstream_spark.errors import SinkRefused
from millstream_spark.sink import sink as sink_module
from millstream_spark.sink.marks import Cluster, settle
from millstream_spark.sink.plan import Plan
from millstream_spark.sink.sink import ExactlyOnceSink
from millstream_spark.spark_session import open_session

SLOTS = 4
MIDNIGHT_MS = 1_763_424_000_000  # 2025-11-18 00:00 UTC
LARGE = random.Random(0).randbytes(50_000).hex().encode()  # no codec makes it small enough


class Recomputing(ExactlyOnceSink):
    """A mutant: it keeps the batch's rows as it should, and computes them again."""

    def _rows_to_write(self, rows: DataFrame, plan: Plan) -> DataFrame:
        placed = rows.withColumn("slot", sink_module._slot(rows, plan.slots))
        return placed.repartitionById(plan.slots, F.col("slot"))


@pytest.fixture
def last_key() -> str:
    keys = open_session("keys").range(64).select(F.concat(F.lit("k"), "id").alias("key"), F.lit("").alias("value"))
    found = keys.where(sink_module._slot(keys, SLOTS) == SLOTS - 1).first()
    assert found is not None
    return str(found["key"])


@pytest.fixture
def query(bootstrap_servers: str, topics: Topics, topic: str, last_key: str, tmp_path: Path) -> SinkQuery:
    name = f"totals-{uuid.uuid4().hex[:8]}"
    topics.create(name, partitions=SLOTS)
    return SinkQuery(bootstrap_servers, topic, name, str(tmp_path / "checkpoint"), SLOTS, last_key)


def fill(topics: Topics, topic: str, count: int) -> Counter[bytes]:
    """Return the values that the query makes of the records."""
    topics.produce(topic, [Sent(number % 3, None, b"v", MIDNIGHT_MS) for number in range(count)])
    return Counter(f"{number % 3}:{number // 3}:v".encode() for number in range(count))


def half_make_a_batch(query: SinkQuery, topics: Topics, kind: type[ExactlyOnceSink] | None) -> Counter[bytes]:
    """Let the broker refuse one large row, of the last slot, until others are committed; then let it take that too."""
    topics.configure(query.topic, "max.message.bytes", "15000")
    expected = fill(topics, query.source, 900)
    topics.produce(query.source, [Sent(0, None, LARGE, MIDNIGHT_MS)])
    expected[b"0:300:" + LARGE] += 1
    with pytest.raises(StreamingQueryException):
        run(query, kind)
    topics.configure(query.topic, "max.message.bytes", "1000000")
    return expected


def run(query: SinkQuery, kind: type[ExactlyOnceSink] | None) -> None:
    if kind is None:
        query.run_with_sparks_own_sink()
    else:
        query.run(kind)


def settled_marks(query: SinkQuery, topics: Topics) -> list[int]:
    """Return the slots' marks once no transaction is on its way."""
    settle(Cluster(query.bootstrap_servers, None, 60_000), [f"{query.group_id}.{slot}" for slot in range(SLOTS)])
    return topics.committed(query.group_id, query.topic, SLOTS)


def lost_and_doubled(query: SinkQuery, topics: Topics, expected: Counter[bytes]) -> tuple[int, int]:
    found = Counter(topics.values(query.topic, SLOTS))
    return (expected - found).total(), (found - expected).total()


def test_a_half_made_batch_is_refused_without_its_marks_and_finished_with_them(
    query: SinkQuery, topics: Topics
) -> None:
    expected = half_make_a_batch(query, topics, ExactlyOnceSink)
    done = settled_marks(query, topics)
    assert done.count(1) in range(1, SLOTS), done
    assert done[SLOTS - 1] == 0
    topics.delete_group(query.group_id)
    with pytest.raises(StreamingQueryException, match="the mark of a slot is gone"):
        query.run()
    plan = topics.mark(query.driver_group_id, query.topic)
    topics.delete_group(query.driver_group_id)
    with pytest.raises(StreamingQueryException, match="knows of none"):
        query.run()
    topics.commit_mark(query.driver_group_id, plan)
    topics.commit(query.group_id, query.topic, done)
    query.run()
    assert settled_marks(query, topics) == [1] * SLOTS
    assert lost_and_doubled(query, topics, expected) == (0, 0)


def test_without_the_kept_rows_the_same_scene_loses_and_doubles(query: SinkQuery, topics: Topics) -> None:
    expected = half_make_a_batch(query, topics, Recomputing)
    query.run(Recomputing)
    lost, doubled = lost_and_doubled(query, topics, expected)
    assert lost > 0
    assert doubled > 0


def test_sparks_own_sink_doubles_in_the_same_scene(query: SinkQuery, topics: Topics) -> None:
    expected = half_make_a_batch(query, topics, None)
    run(query, None)
    lost, doubled = lost_and_doubled(query, topics, expected)
    assert lost == 0
    assert doubled > 0


@pytest.mark.parametrize("slots", [1, SLOTS])
def test_drivers_that_are_killed_lose_and_double_nothing(query: SinkQuery, topics: Topics, slots: int) -> None:
    query = SinkQuery(query.bootstrap_servers, query.source, query.topic, query.checkpoint, slots)
    expected = fill(topics, query.source, 40_000)
    for _ in range(2):
        query.run_and_kill_in_a_batch()
    assert len(query.batches("commits")) < 20, "the query ended before it was killed"
    query.run()
    assert lost_and_doubled(query, topics, expected) == (0, 0)
    assert len(list(Path(query.checkpoint).glob("frozen/*"))) <= 1


def test_a_lost_checkpoint_is_refused_before_the_first_row(query: SinkQuery, topics: Topics) -> None:
    expected = fill(topics, query.source, 300)
    query.run()
    fill(topics, query.source, 30)
    shutil.rmtree(query.checkpoint)
    with pytest.raises(StreamingQueryException, match="it was lost"):
        query.run()
    assert lost_and_doubled(query, topics, expected) == (0, 0)


def test_what_cannot_be_written_is_refused_before_the_query_starts(query: SinkQuery) -> None:
    more = SinkQuery(query.bootstrap_servers, query.source, query.topic, query.checkpoint, SLOTS + 1)
    with pytest.raises(SinkRefused, match="from 1 to 4"):
        more.run()
    with pytest.raises(SinkRefused, match=r"'a\.driver' is not"):
        ExactlyOnceSink(bootstrap_servers="", topic="", name="a.driver", checkpoint="")
    rows = query.rows().withColumn("total", F.lit(1))
    with pytest.raises(SinkRefused, match="total"):
        query.sink().write_stream(rows)


def test_a_second_driver_ends_the_first(query: SinkQuery, topics: Topics) -> None:
    expected = fill(topics, query.source, 300)
    sink = query.sink()
    first = sink.write_stream(query.rows()).trigger(processingTime="200 milliseconds").start()
    try:
        first.processAllAvailable()
        # As a driver elsewhere would: in one session Spark itself keeps a checkpoint to one query.
        query.sink()._take_over()
        topics.produce(query.source, [Sent(0, None, b"v", MIDNIGHT_MS)])
        with pytest.raises(StreamingQueryException, match="has taken over"):
            first.awaitTermination(60)
    finally:
        first.stop()
    # Started again it is the later one.
    sink.write_stream(query.rows()).trigger(availableNow=True).start().awaitTermination()
    expected[b"0:100:v"] += 1
    assert lost_and_doubled(query, topics, expected) == (0, 0)
