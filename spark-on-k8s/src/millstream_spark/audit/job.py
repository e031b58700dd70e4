"""Compares what is stored of a topic, in a lake or in another topic, with the topic itself, and says where they differ.

A lake is read as Spark reads it, through the sink's own log, so files that a killed job left behind do not count. What the
topic holds is what a reader of committed records gets: markers, aborted transactions and gaps of compaction are nobody's record.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from millstream_spark.archive.columns import RECORD_COLUMNS
from millstream_spark.audit.comparison import COUNTS, FAULTS, compare_by_offset, compare_in_order
from millstream_spark.audit.config import AuditConfig, parse_audit
from millstream_spark.delta_table import session_settings
from millstream_spark.errors import BadConfig, BadOffsets, LakeIncomplete
from millstream_spark.login import Login, read_login
from millstream_spark.origin import Origin
from millstream_spark.spark_session import open_session
from millstream_spark.topic import Span, Topic, committed_offsets, describe_topic, is_compacted

TIMEOUT_S = 30

logger = logging.getLogger(__name__)


def run_audit(arguments: Sequence[str]) -> int:
    config = parse_audit(arguments)
    login = read_login(config.credentials)
    topic = describe_topic(config.bootstrap_servers, config.topic, timeout_s=TIMEOUT_S, login=login.librdkafka)
    spark = open_session(f"audit {config.topic}", session_settings(config.lake_format))
    try:
        counted = _compare(spark, config, topic, login)
    finally:
        spark.stop()
    total = dict.fromkeys(COUNTS, 0)
    for partition in counted:
        print(json.dumps({"topic": topic.name, **partition}), flush=True)
        for name in COUNTS:
            total[name] += partition[name]
    print(json.dumps(total), flush=True)
    if any(total[name] for name in FAULTS):
        found = " ".join(f"{name}={total[name]}" for name in FAULTS)
        raise LakeIncomplete(f"{config.lake or config.copy} is not {topic.name}: {found}")
    return 0


def _compare(spark: SparkSession, config: AuditConfig, topic: Topic, login: Login) -> list[dict[str, Any]]:
    # Listed before the topic is asked for its ends: what is stored by then is not newer than they are.
    stored = _stored(spark, config, login)
    origin = Origin(config.bootstrap_servers, topic, login, kafka=config.kafka)
    held = origin.resolve(None, None)
    spans = _compared(config, topic, held, login)
    records = origin.records(spark, spans)
    if config.lake is None:
        counted = compare_in_order(records, stored)
    else:
        compacted = is_compacted(config.bootstrap_servers, topic.name, timeout_s=TIMEOUT_S, login=login.librdkafka)
        counted = compare_by_offset(records, stored, spans, held, compacted=compacted)
    with origin.watched():
        found = {row["partition"]: row.asDict() for row in counted.collect()}
    empty = dict.fromkeys((*COUNTS, "checksum", "stored_checksum"), 0) | {"first_fault": None}
    partitions = sorted(found.keys() | spans.keys())
    return [
        {"partition": partition, "end": spans[partition].end if partition in spans else None}
        | {name: _plain(found.get(partition, empty)[name]) for name in empty}
        for partition in partitions
    ]


def _stored(spark: SparkSession, config: AuditConfig, login: Login) -> DataFrame:
    if config.lake is not None:
        try:
            return spark.read.format(config.lake_format).load(config.lake).select(*RECORD_COLUMNS)
        except AnalysisException as error:
            raise BadConfig(f"{config.lake} cannot be read as a lake: {str(error).splitlines()[0]}") from error
    assert config.copy is not None
    servers = config.copy_bootstrap_servers
    copy = describe_topic(servers, config.copy, timeout_s=TIMEOUT_S, login=login.librdkafka)
    origin = Origin(servers, copy, login, kafka=config.kafka)
    return origin.records(spark, origin.resolve(None, None))


def _compared(config: AuditConfig, topic: Topic, held: Mapping[int, Span], login: Login) -> dict[int, Span]:
    """Return what is to be compared; raise BadOffsets for an end that the topic does not have."""
    if config.ending_offsets is not None:
        ends = config.ending_offsets
    elif config.group is not None:
        ends = _committed(config, topic, login)
    else:
        return dict(held)
    if ends.keys() != held.keys() or any(ends[partition] > span.end for partition, span in held.items()):
        told = {partition: span.end for partition, span in held.items()}
        raise BadOffsets(f"{topic.name} ends at {told}, and it was to be compared up to {dict(ends)}")
    return {partition: Span(span.start, max(span.start, ends[partition])) for partition, span in held.items()}


def _committed(config: AuditConfig, topic: Topic, login: Login) -> dict[int, int]:
    assert config.group is not None
    committed = committed_offsets(
        config.bootstrap_servers, config.group, topic, timeout_s=TIMEOUT_S, login=login.librdkafka
    )
    if all(offset < 0 for offset in committed):
        raise BadOffsets(f"group {config.group} has committed no offset of {topic.name}")
    return {partition: max(offset, 0) for partition, offset in enumerate(committed)}


def _plain(number: object) -> int | None:
    """Return a count as JSON has it: a sum of many digests comes as a decimal, and none where there are no records."""
    return None if number is None else int(str(number))
