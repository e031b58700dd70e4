"""One query into a topic whose rows and places differ at every computation; runs here or as a process to be killed."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from millstream_spark.sink.sink import ExactlyOnceSink
from millstream_spark.spark_session import open_session

MAX_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class SinkQuery:
    bootstrap_servers: str
    source: str
    topic: str
    checkpoint: str
    slots: int
    last_key: str = ""
    """The key of large rows: of one that is written by the last slot."""

    @property
    def name(self) -> str:
        return f"query-{self.topic}"

    @property
    def group_id(self) -> str:
        return f"spark-sink.{self.name}"

    def rows(self) -> DataFrame:
        records = (
            open_session("sink")
            .readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap_servers)
            .option("subscribe", self.source)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", MAX_ROWS)
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
        before = self.batches("commits")
        command = [sys.executable, __file__, *(str(value) for value in asdict(self).values())]
        log = Path(self.checkpoint).with_name("killed-query.log")
        with log.open("wb") as output:
            driver = subprocess.Popen(command, start_new_session=True, stdout=output, stderr=output)
        try:
            deadline = time.monotonic() + 240
            while not (self.batches("commits") > before and self.batches("offsets") > self.batches("commits")):
                assert driver.poll() is None, f"ended with {driver.returncode} too early: {log.read_text()[-4000:]}"
                assert time.monotonic() < deadline, (
                    f"never came to where it was to be killed: {log.read_text()[-4000:]}"
                )
                time.sleep(0.01)
            time.sleep(random.uniform(0, 0.5))
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()


if __name__ == "__main__":
    bootstrap_servers, source, topic, checkpoint, slots, last_key = sys.argv[1:]
    SinkQuery(bootstrap_servers, source, topic, checkpoint, int(slots), last_key).run()
