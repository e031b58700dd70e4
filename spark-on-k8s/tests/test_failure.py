"""What is told of a failure of Spark's: one line, and the status of the error that a task raised."""

import pytest

from millstream_spark.errors import OutputUnwritable, QueryFailed, RecordsGone, SegmentDamaged, SinkRefused
from millstream_spark.failure import told

WORKER = """
  An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/opt/pyspark.zip/pyspark/worker.py", line 3622, in main
    process()
           ^^
{}
"""
STREAM = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage failure
Traceback (most recent call last):
  File "/opt/millstream_spark/sink/slot.py", line 36, in write
    raise SinkRefused("old")
millstream_spark.errors.SinkRefused: another writer has taken over
\tat org.apache.spark.api.python.BasePythonRunner
=== Streaming Query ===
Identifier: totals
"""
LOSS = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Some data may have been lost because they are not available in Kafka any more;
either the data was aged out by Kafka or the topic may have been deleted before all the data in the
topic was processed.
If you don't want your streaming query to fail on such cases, set the source option failOnDataLoss to false.
Reason: Could not read records in offset [10, 20) for topic partition orders-0
with consumer group spark-kafka-source-9322cc51-executor.
"""
FULL = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [TASK_WRITE_FAILED] Task failed while writing rows to file:/lake. SQLSTATE: 58030 SQLSTATE: XXKST
org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query [id = 1, runId = 2] terminated
\tat org.apache.spark.sql.execution.streaming.runtime.StreamExecution.runStream(StreamExecution.scala:380)
Caused by: org.apache.parquet.util.AutoCloseables$ParquetCloseResourceException: Unable to close resource
\tat org.apache.parquet.util.AutoCloseables.uncheckedClose(AutoCloseables.java:84)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""
JAVA = """An error occurred while calling o117.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: java.io.IOException: Mkdirs failed to create file:/proc/x
\tat org.apache.hadoop.fs.ChecksumFileSystem.create(ChecksumFileSystem.java:774)
"""


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (WORKER.format("millstream_spark.errors.SegmentDamaged: a.log: torn"), SegmentDamaged, "a.log: torn"),
        (WORKER.format("OSError: [Errno 28] No space left on device"), OutputUnwritable, "OSError: [Errno 28] No space left on device"),
        (STREAM, SinkRefused, "another writer has taken over"),
        (LOSS, RecordsGone, "Could not read records in offset [10, 20) for topic partition orders-0"),
        (FULL, OutputUnwritable, "[TASK_WRITE_FAILED] Task failed while writing rows to file:/lake. java.io.IOException: No space left on device"),
        (JAVA, OutputUnwritable, "Job aborted due to stage failure: java.io.IOException: Mkdirs failed to create file:/proc/x"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/none.", QueryFailed, "[PATH_NOT_FOUND] Path does not exist: file:/none."),
    ],
)  # fmt: skip
def test_one_line_says_what_it_was(text: str, kind: type[Exception], words: str) -> None:
    found = told(RuntimeError(text))
    assert (type(found), str(found)) == (kind, words)
