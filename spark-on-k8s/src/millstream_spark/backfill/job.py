"""Stores a range of a topic as Parquet: one task for each partition, through the brokers or from closed segments.

Its end is fixed at the first start and kept in the output as `_backfill.json`; `_SUCCESS` says that all of it is there.
Started again it goes on behind the files that are whole.
"""

import logging
import os
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from millstream_spark.backfill.config import BackfillConfig, parse_backfill
from millstream_spark.backfill.plan import Plan
from millstream_spark.backfill.writing import SCHEMA, WRITTEN, PartWriter
from millstream_spark.errors import JobError, LineageBroken, OutputUnwritable
from millstream_spark.login import read_login
from millstream_spark.origin import Origin
from millstream_spark.spark_session import open_session
from millstream_spark.topic import describe_topic

TIMEOUT_S = 30
PLAN, DONE = "_backfill.json", "_SUCCESS"

logger = logging.getLogger(__name__)


def run_backfill(arguments: Sequence[str]) -> int:
    config = parse_backfill(arguments)
    login = read_login(config.credentials)
    topic = describe_topic(config.bootstrap_servers, config.topic, timeout_s=TIMEOUT_S, login=login.librdkafka)
    origin = Origin(config.bootstrap_servers, topic, login, config.segments, config.kafka)
    try:
        plan = _planned(config, origin)
        done = config.output / DONE
        left = {} if done.exists() else plan.left({path.name for path in config.output.iterdir()})
        logger.info(
            "backfill.started topic=%s topic_id=%s output=%s offsets=%d left=%d",
            topic.name,
            topic.topic_id,
            config.output,
            sum(span.end - span.start for span in plan.ranges.values()),
            sum(span.end - span.start for span in left.values()),
        )
        started = time.monotonic()
        records = _store(config, origin, plan) if left else 0
        done.touch()
    except OSError as error:
        raise OutputUnwritable(f"{config.output}: {error.strerror}") from error
    logger.info(
        "backfill.finished topic=%s records=%d seconds=%.1f lag=0", topic.name, records, time.monotonic() - started
    )
    return 0


def _planned(config: BackfillConfig, origin: Origin) -> Plan:
    """Return the plan that is there, or make one."""
    path = config.output / PLAN
    if path.exists():
        plan = Plan.from_text(path.read_text())
        plan.check_goes_on(origin.topic)
        return plan
    config.output.mkdir(parents=True, exist_ok=True)
    if any(not each.name.startswith(".") for each in config.output.iterdir()):
        raise LineageBroken(
            f"{config.output} has files and no {PLAN}: they are not a backfill's; take an empty directory"
        )
    ranges = origin.resolve(config.start, config.end)
    plan = Plan(origin.topic.name, origin.topic.topic_id, config.part_offsets, ranges)
    _create(path, plan.to_text())
    # Of two that start at once, one's plan is both's.
    return Plan.from_text(path.read_text())


def _create(path: Path, text: str) -> None:
    """Create a file that a reader sees whole or not at all, unless it is there."""
    hidden = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with hidden.open("x") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(hidden, path)
    except FileExistsError:
        pass
    finally:
        hidden.unlink()


def _store(config: BackfillConfig, origin: Origin, plan: Plan) -> int:
    left = plan.left({path.name for path in config.output.iterdir()})
    writer = PartWriter(str(config.output), plan.topic, plan.part_offsets)
    spark = open_session(f"backfill {plan.topic}")
    try:
        written = origin.each_partition(spark, left, tuple(SCHEMA.names), writer.write, WRITTEN)
    finally:
        spark.stop()
    for each in written:
        path = config.output / each["name"]
        if not path.exists() or path.stat().st_size != each["bytes"]:
            raise JobError(f"{path} is not what a task wrote: driver and executors need the same directory")
    # Of tasks that were killed.
    for path in config.output.glob(f".{plan.topic}-*.parquet.*"):
        path.unlink(missing_ok=True)
    return sum(each["records"] for each in written)
