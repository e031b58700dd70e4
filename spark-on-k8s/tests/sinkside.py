"""One query into a topic whose rows and places differ at every computation; runs here or as a process to be killed."""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from processes import descendants
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from millstream_spark.sink.sink import ExactlyOnceSink
from millstream_spark.spark_session import open_session

MAX_ROWS = 2_000
OURS, SPARKS_OWN = "ours", "sparks-own"


@dataclass(frozen=True, slots=True)
class SinkQuery:
    bootstrap_servers: str
    source: str
    topic: str
    checkpoint: str
    slots: int
    last_key: str = ""
    """The key of large rows: of one that is written by the last slot."""
    max_rows: int = MAX_ROWS
    """Of a batch."""

    @property
    def name(self) -> str:
        return f"query-{self.topic}"

    @property
    def group_id(self) -> str:
        return f"spark-sink.{self.name}"

    @property
    def driver_group_id(self) -> str:
        return f"{self.group_id}.driver"

    def rows(self) -> DataFrame:
        records = (
            open_session("sink")
            .readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap_servers)
            .option("subscribe", self.source)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", self.max_rows)
            .load()
        )
        large: Column = F.length("value") > 1000
        key = F.when(large, F.lit(self.last_key)).otherwise((F.rand() * 1_000_000).cast("int").cast("string"))
        value = F.concat_ws(":", F.col("partition"), F.col("offset"), F.col("value").cast("string"))
        return records.select(key.alias("key"), value.alias("value"))

    def sink(self, kind: type[ExactlyOnceSink] = ExactlyOnceSink) -> ExactlyOnceSink:
        return kind(
            bootstrap_servers=self.bootstrap_servers,
            topic=self.topic,
            name=self.name,
            checkpoint=self.checkpoint,
            slots=self.slots,
        )

    def run(self, kind: type[ExactlyOnceSink] = ExactlyOnceSink) -> None:
        """Write what is there now; raise if the query fails."""
        self.sink(kind).write_stream(self.rows()).trigger(availableNow=True).start().awaitTermination()

    def run_with_sparks_own_sink(self) -> None:
        writer = self.rows().writeStream.format("kafka").option("topic", self.topic)
        writer = writer.option("kafka.bootstrap.servers", self.bootstrap_servers)
        writer = writer.option("checkpointLocation", self.checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()

    def batches(self, log: str) -> set[int]:
        directory = Path(self.checkpoint) / log
        return {int(path.name) for path in directory.glob("*") if path.name.isdecimal()}

    def run_and_kill_in_a_batch(self) -> None:
        """Kill the driver and its JVM in a batch that is not its first; Python workers live until they notice."""
        driver = Driver(self)
        try:
            driver.wait_until_in_a_batch()
            time.sleep(random.uniform(0, 0.5))
        finally:
            driver.kill()


class Driver:
    """The query as a process of its own, with the JVM and whatever that starts."""

    def __init__(self, query: SinkQuery, *, submit: str | None = None, sink: str = OURS) -> None:
        """`submit`: other arguments of Spark's than those of this process."""
        self._query = query
        self._before = query.batches("commits")
        self._log = Path(query.checkpoint).with_name(f"driver-{uuid.uuid4().hex[:8]}.log")
        environment = os.environ | ({} if submit is None else {"PYSPARK_SUBMIT_ARGS": f"{submit} pyspark-shell"})
        command = [sys.executable, __file__, sink, *(str(value) for value in asdict(query).values())]
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                command, start_new_session=True, stdout=output, stderr=output, env=environment
            )

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_in_a_batch(self) -> bool:
        """One that is not its first."""
        if self.has_ended:
            return False
        done = self._query.batches("commits")
        return done > self._before and self._query.batches("offsets") > done

    def wait_until_in_a_batch(self) -> None:
        deadline = time.monotonic() + 600
        while not self.is_in_a_batch:
            assert not self.has_ended, f"ended with {self._process.returncode} too early: {self.tail}"
            assert time.monotonic() < deadline, f"never came to where it was to be killed: {self.tail}"
            time.sleep(0.01)

    @property
    def tail(self) -> str:
        return self._log.read_text(errors="replace")[-4_000:]

    def kill(self) -> None:
        """Kill it with its JVM and its executors."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def kill_alone(self) -> None:
        """Kill it with its JVM; executors live until they notice."""
        jvms = [pid for pid, command in descendants(self.pid).items() if "deploy.SparkSubmit" in command]
        for pid in (*jvms, self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()


if __name__ == "__main__":
    sink, bootstrap_servers, source, topic, checkpoint, slots, last_key, max_rows = sys.argv[1:]
    query = SinkQuery(bootstrap_servers, source, topic, checkpoint, int(slots), last_key, int(max_rows))
    if sink == OURS:
        query.run()
    else:
        query.run_with_sparks_own_sink()
