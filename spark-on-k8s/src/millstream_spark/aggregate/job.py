"""Runs the aggregate, a streaming query with Spark's own state. Totals and dead letters of a batch are one exactly-once write."""

import json
from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import NumericType, StructType, TimestampType

from millstream_spark.aggregate.config import AggregateConfig, read_config
from millstream_spark.aggregate.transforms import dead_letters, decode, totals
from millstream_spark.checkpoint import initial_offsets, planned_batch
from millstream_spark.errors import BadConfig, QueryFailed
from millstream_spark.lag import Offsets
from millstream_spark.login import Login, read_login
from millstream_spark.options import JobParser
from millstream_spark.sink.sink import ExactlyOnceSink
from millstream_spark.source import check_settings, read_options
from millstream_spark.spark_session import open_session
from millstream_spark.storage import Storage
from millstream_spark.streaming import Stream, run_stream, sigterm
from millstream_spark.topic import describe_topic
from millstream_spark.trigger import triggered

EARLIEST = -2
TOPIC_CHECK_INTERVAL_S = 30
DESCRIBE_TIMEOUT_S = 30


def run_aggregate(arguments: Sequence[str]) -> int:
    parser = JobParser("aggregate", "Count and sum a topic by window and key, exactly once.")
    parser.add_argument("config", help="a TOML file")
    config = read_config(parser.parse_args(arguments).config)
    login = read_login(config.credentials)
    stream = Stream(
        job="aggregate",
        bootstrap_servers=config.bootstrap_servers,
        topic=config.source.topic,
        checkpoint=config.checkpoint,
        output=f"topic {config.result.topic}",
        group_id=f"aggregate-{config.name}",
        login=login,
        starting_offsets=config.source.starting_offsets,
        topic_check_interval_s=TOPIC_CHECK_INTERVAL_S,
    )
    with sigterm() as stop:
        topic = stream.describe()
        describe_topic(
            config.bootstrap_servers, config.dead_letters.topic, timeout_s=DESCRIBE_TIMEOUT_S, login=login.librdkafka
        )
        spark = open_session(f"aggregate {config.name}")
        try:
            check_settings(spark, config.source.kafka)
            spark.conf.set("spark.sql.shuffle.partitions", config.window.tasks)
            rows = counted(spark, config, login)
            run_stream(
                spark,
                stream,
                topic,
                lambda: start_query(spark, config, login, rows),
                output_is_begun=False,
                stop=stop,
            )
        finally:
            spark.stop()
    return 0


def check_columns(config: AggregateConfig) -> None:
    """Raises BadConfig for a schema that is none, or whose columns are not what they are named for."""
    try:
        schema = StructType.fromDDL(config.source.schema)
    except ParseException as error:
        raise BadConfig(f"source.schema is no schema: {str(error).splitlines()[0]}") from None
    assert isinstance(schema, StructType)
    window = config.window
    named = {*window.keys, *window.sums, window.time} - {"timestamp"}
    if missing := sorted(named - set(schema.fieldNames())):
        raise BadConfig(f"source.schema has no {', '.join(missing)}")
    if window.time != "timestamp" and not isinstance(schema[window.time].dataType, TimestampType):
        raise BadConfig(f"window.time: {window.time} is no TIMESTAMP")
    for name in window.sums:
        if not isinstance(schema[name].dataType, NumericType):
            raise BadConfig(f"window.sums: {name} is no number")


def counted(spark: SparkSession, config: AggregateConfig, login: Login) -> DataFrame:
    """Return the result topic's rows. Raises BadConfig for a schema or a window of which none can be made."""
    check_columns(config)
    records = (
        spark.readStream.format("kafka")
        .options(**_read_options(config, login))
        .option("startingOffsets", config.source.starting_offsets)
        .option("maxOffsetsPerTrigger", config.source.max_offsets_per_trigger)
        .load()
    )
    try:
        return totals(decode(records, config.source.schema, config.window), config.window)
    except (AnalysisException, IllegalArgumentException, ParseException) as error:
        raise BadConfig(f"window: {str(error).splitlines()[0]}") from None


def start_query(spark: SparkSession, config: AggregateConfig, login: Login, rows: DataFrame) -> StreamingQuery:
    sink = ExactlyOnceSink(
        bootstrap_servers=config.bootstrap_servers,
        topic=config.result.topic,
        name=config.name,
        checkpoint=config.checkpoint,
        slots=config.result.slots,
        credentials=config.credentials,
    )
    writer = sink.write_stream(rows, beside=lambda batch: uncounted(spark, config, login, batch))
    writer = writer.outputMode("append" if config.result.emit == "final" else "update")
    return triggered(writer.queryName(config.name), config.when).start()


def uncounted(spark: SparkSession, config: AggregateConfig, login: Login, batch: int) -> DataFrame:
    """Return the dead letters of a batch: its records are read once more, and judged by the watermark that Spark went by."""
    storage = Storage(spark)
    planned = planned_batch(storage, config.checkpoint, batch)
    before = planned_batch(storage, config.checkpoint, batch - 1) if batch else None
    start = before.end if before is not None else initial_offsets(storage, config.checkpoint)
    if planned is None or start is None:
        raise QueryFailed(f"checkpoint {config.checkpoint} does not say what batch {batch} is")
    records = (
        spark.read.format("kafka")
        .options(**_read_options(config, login))
        .option("startingOffsets", json.dumps(_from(start, planned.end)))
        .option("endingOffsets", json.dumps(planned.end))
        .load()
    )
    # Spark drops rows by the watermark of the batch before: windows that this batch ends take its rows yet.
    late_ms = 0 if before is None else before.watermark_ms
    decoded = decode(records, config.source.schema, config.window)
    return dead_letters(decoded, config.window, late_ms=late_ms, topic=config.dead_letters.topic)


def _from(start: Offsets, end: Offsets) -> Offsets:
    """Return where each partition of the end begins: those that were added since, at their beginning."""
    return {
        topic: {partition: start.get(topic, {}).get(partition, EARLIEST) for partition in partitions}
        for topic, partitions in end.items()
    }


def _read_options(config: AggregateConfig, login: Login) -> Mapping[str, str]:
    source = config.source
    return read_options(config.bootstrap_servers, source.topic, login, source.kafka, skip_deleted=source.skip_deleted)
