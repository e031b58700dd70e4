"""The sink as a query sees it; runs in the driver.

    sink = ExactlyOnceSink(bootstrap_servers="...", topic="totals", name="hourly-totals", checkpoint="...", slots=4)
    query = sink.write_stream(rows).trigger(processingTime="1 second").start()

A batch is divided among slots, each written by one task in one transaction that holds the rows and, as a committed
offset, the batch's number: a batch that is tried again sees which slots are done. That is right only if its rows are
the same again, which no query can promise: so the rows for several slots are kept before the first is written.
"""

import hashlib
import logging
import re
import uuid
from collections.abc import Callable
from functools import reduce

from confluent_kafka import TopicPartition
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millstream_spark.errors import SinkRefused
from millstream_spark.login import read_login
from millstream_spark.sink.marks import Cluster, MarkedWriter
from millstream_spark.sink.plan import Plan, is_new
from millstream_spark.sink.slot import WRITTEN, SlotWriter
from millstream_spark.storage import Storage
from millstream_spark.topic import describe_topic

# A row's columns; all but the value may be left out.
COLUMNS = {
    "key": "binary",
    "value": "binary",
    "headers": "array<struct<key:string,value:binary>>",
    "partition": "int",
    "topic": "string",
}
SLOT = "slot"
BEGUN = "sink-begun"
DESCRIBE_TIMEOUT_S = 30
# Without a dot: what is appended to one name is then never another's.
NAME = re.compile(r"[a-zA-Z0-9_-]{1,200}")

logger = logging.getLogger(__name__)


class ExactlyOnceSink:
    def __init__(
        self,
        *,
        bootstrap_servers: str,
        topic: str,
        name: str,
        checkpoint: str,
        slots: int = 1,
        credentials: str | None = None,
        transaction_timeout_ms: int = 60_000,
    ) -> None:
        """`name`: of this query alone, for ever; drivers under one name fence each other. Raises SinkRefused."""
        if NAME.fullmatch(name) is None:
            raise SinkRefused(f"{name!r} is not a sink's name: letters, digits, - and _")
        self._cluster = Cluster(bootstrap_servers, credentials, transaction_timeout_ms)
        self._topic = topic
        self._name = f"spark-sink.{name}"
        self._checkpoint = checkpoint
        self._slots = slots
        self._driver: MarkedWriter | None = None
        self._recorded: Plan | None = None

    def write_stream(self, rows: DataFrame, *, beside: Callable[[int], DataFrame] | None = None) -> DataStreamWriter:
        """`beside`: gives further rows for a batch, by its number. Raises SinkRefused for what cannot be written."""
        unknown = set(rows.columns) - set(COLUMNS)
        if unknown or "value" not in rows.columns:
            raise SinkRefused(
                f"a row has value, and may have key, headers, partition and topic; this one has {rows.columns}"
            )
        for name, kind in rows.select([name for name in ("key", "value") if name in rows.columns]).dtypes:
            if kind not in ("string", "binary"):
                raise SinkRefused(f"{name} is a {kind}: make it a string or binary")
        partitions = describe_topic(
            self._cluster.bootstrap_servers,
            self._topic,
            timeout_s=DESCRIBE_TIMEOUT_S,
            login=read_login(self._cluster.credentials).librdkafka,
        ).partitions
        # A slot's mark is the offset of the partition of that number: brokers refuse one that does not exist.
        if not 1 <= self._slots <= partitions:
            raise SinkRefused(
                f"slots={self._slots}: {self._topic} has {partitions} partitions, so from 1 to {partitions}"
            )

        # A query that starts is a new driver, also after one of this object's has failed.
        self._driver = None

        def write(computed: DataFrame, batch: int) -> None:
            more = [] if beside is None else [beside(batch)]
            names = [name for name in COLUMNS if any(name in each.columns for each in (computed, *more))]
            self._write(reduce(DataFrame.union, [_complete(each, names) for each in (computed, *more)]), batch)

        return rows.writeStream.foreachBatch(write).option("checkpointLocation", self._checkpoint)

    def _write(self, rows: DataFrame, batch: int) -> None:
        plan = self._planned(rows, batch)
        placed = self._rows_to_write(rows, plan)
        task = SlotWriter(self._cluster, self._topic, self._name, batch)
        written = [row["written"] for row in placed.mapInArrow(task.write, WRITTEN).collect()]
        logger.info("sink.batch name=%s batch=%d slots=%d rows=%d", self._name, batch, len(written), sum(written))

    def _planned(self, rows: DataFrame, batch: int) -> Plan:
        storage = Storage(rows.sparkSession)
        source_start, source_end = self._source_offsets(storage, batch - 1), self._source_offsets(storage, batch)
        if self._driver is None:
            self._driver, self._recorded = self._take_over()
        begun = f"{self._checkpoint}/{BEGUN}"
        is_begun = batch == 0 and storage.read_text(begun) is not None
        if is_new(self._recorded, is_begun=is_begun, batch=batch, source_start=source_start, source_end=source_end):
            frozen = None if self._slots == 1 else self._freeze(storage, rows, batch)
            plan = Plan(batch, source_start, source_end, self._slots, frozen)
            self._driver.begin(batch + 1, plan.to_text())
            # From here on every slot has a mark: one that is not there was lost, and not never made.
            self._driver.mark_in(self._name, [TopicPartition(self._topic, slot, batch) for slot in range(self._slots)])
            self._driver.commit()
            self._recorded = plan
        elif self._recorded is not None and self._recorded.frozen is not None:
            # None of these is written: but Spark commits no batch whose state was not made.
            rows.write.format("noop").mode("overwrite").save()
        assert self._recorded is not None
        if batch == 0 and not is_begun:
            # The record in the cluster may expire: without one, this says that rows may have been written.
            storage.create_text(begun, self._name)
        return self._recorded

    def _take_over(self) -> tuple[MarkedWriter, Plan | None]:
        """Fence every earlier driver: what it recorded stays, and it can record nothing more."""
        driver = MarkedWriter(
            self._cluster,
            transactional_id=f"{self._name}.driver",
            group_id=f"{self._name}.driver",
            topic=self._topic,
            partition=0,
        )
        mark = driver.read()
        return driver, None if mark is None else Plan.from_text(mark[1])

    def _source_offsets(self, storage: Storage, batch: int) -> str:
        """Return a digest of where the batch ends: the log's lines after its version and the batch's own clock."""
        if batch < 0:
            return ""
        text = storage.read_text(f"{self._checkpoint}/offsets/{batch}")
        if text is None or len(text.splitlines()) < 3:
            raise SinkRefused(f"checkpoint {self._checkpoint} does not say where batch {batch} ends")
        return hashlib.sha256("\n".join(text.splitlines()[2:]).encode()).hexdigest()[:16]

    def _freeze(self, storage: Storage, rows: DataFrame, batch: int) -> str:
        """Compute the batch and keep it until the next; return the name of its directory."""
        directory = f"{self._checkpoint}/frozen"
        for name in storage.names(directory):
            if int(name.split("-")[0]) < batch:
                storage.delete(f"{directory}/{name}")
        # A name of its own: a driver that was killed here, or a second one, leaves another that nothing refers to.
        frozen = f"{batch}-{uuid.uuid4().hex}"
        # With their slots: rows go where they went, whatever the next driver's code says.
        with_slot = rows.withColumn(SLOT, _slot(rows, self._slots))
        with_slot.write.option("compression", "lz4").parquet(f"{directory}/{frozen}")
        return frozen

    def _rows_to_write(self, rows: DataFrame, plan: Plan) -> DataFrame:
        """Return the rows with one partition for each slot, whose number is the slot's."""
        if plan.frozen is None:
            return rows.coalesce(1)
        path = f"{self._checkpoint}/frozen/{plan.frozen}"
        if not Storage(rows.sparkSession).names(path):
            raise SinkRefused(f"batch {plan.batch} was begun, and its rows are gone from {path}")
        return rows.sparkSession.read.parquet(path).repartitionById(plan.slots, F.col(SLOT))


def _complete(rows: DataFrame, names: list[str]) -> DataFrame:
    columns: list[Column] = [
        (F.col(name) if name in rows.columns else F.lit(None)).cast(COLUMNS[name]).alias(name) for name in names
    ]
    return rows.select(columns)


def _slot(rows: DataFrame, slots: int) -> Column:
    # Rows of a key stay together; those without one are spread.
    placed_by = F.coalesce(*(F.col(name).cast("binary") for name in ("key", "value") if name in rows.columns))
    return F.pmod(F.xxhash64(placed_by), F.lit(slots)).cast("int")
