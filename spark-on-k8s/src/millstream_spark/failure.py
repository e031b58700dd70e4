"""What ended a job, as one line and an exit status: the errors of Spark and of Kafka's clients, without their traces."""

import re

from confluent_kafka import KafkaException
from pyspark.errors.exceptions.captured import CapturedException

from millstream_spark import errors
from millstream_spark.errors import ClusterRefused, JobError, OutputUnwritable, QueryFailed, RecordRefused, RecordsGone

_OWN = re.compile(r"millstream_spark\.errors\.(\w+): (.*)")
_TRACE = "Traceback (most recent call last):"
# What Spark's connector says where failOnDataLoss lets it.
_LOSS = re.compile(r"set the source option failOnDataLoss to false\.\s+Reason: (.*)")
_BAD_TIMESTAMP = re.compile(r"Record at topic .* has timestamp value .* overflows[^.]*")
_UNWRITABLE = re.compile(
    r"No space left on device|Disk quota exceeded|Read-only file system|Permission denied|AccessControlException"
    r"|Mkdirs failed|mkdir of|ParentNotDirectoryException|Not a directory"
)
# Around what a query or a task died of.
_AROUND = re.compile(
    r"^: |^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: "
    r"|Job aborted due to stage failure: Task .* most recent failure: Lost task .*?\(TID \d+\) \(.*?\): "
    r"|org\.apache\.spark\.SparkException: | SQLSTATE: \w+"
)


def told(error: Exception) -> JobError:
    """Return what ended a job's work, without the traces of two languages and the plan around it."""
    if isinstance(error, KafkaException):
        return ClusterRefused(error.args[0].str())
    # Spark's message says what failed, and only its trace what that came from.
    text = f"{error}\n{error._stackTrace}" if isinstance(error, CapturedException) else str(error)
    lines = [line for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        if (own := _OWN.search(line)) is not None and issubclass(getattr(errors, own[1], object), JobError):
            kind: type[JobError] = getattr(errors, own[1])
            return kind(own[2])
    if (loss := _LOSS.search(text)) is not None:
        return RecordsGone(loss[1])
    if (record := _BAD_TIMESTAMP.search(text)) is not None:
        return RecordRefused(record[0])
    reason = _of_python(lines) or _of_java(lines) or type(error).__name__
    return OutputUnwritable(reason) if _UNWRITABLE.search(reason) else QueryFailed(reason)


def _of_python(lines: list[str]) -> str | None:
    """Return what a worker's trace ends with: the first line behind it that is not indented."""
    traces = [number for number, line in enumerate(lines) if line.endswith(_TRACE)]
    if not traces:
        return None
    return next((line for line in lines[traces[-1] + 1 :] if not line.startswith(" ")), None)


def _of_java(lines: list[str]) -> str | None:
    """Return what failed, and what that came from."""
    first = next((line.strip() for line in lines if not line.startswith("An error occurred while calling")), None)
    if first is None:
        return None
    failed = _AROUND.sub("", first)
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return failed if not causes or causes[-1] in failed else f"{failed} {causes[-1]}"
