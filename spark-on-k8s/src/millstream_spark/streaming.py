"""Runs a streaming query as every job here does: one line per batch, its lag as a group's, its topic watched, stopped between batches."""

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from millstream_spark.checkpoint import committed_offsets
from millstream_spark.errors import TopicUnavailable, told
from millstream_spark.lag import LagListener, OffsetCommitter, lag_of, parse_offsets
from millstream_spark.lineage import Lineage, check_continues, establish
from millstream_spark.login import Login
from millstream_spark.storage import Storage
from millstream_spark.topic import Topic, TopicMissing, describe_topic

DESCRIBE_TIMEOUT_S = 30
POLL_S = 1
BATCH_END_TIMEOUT_S = 50
"""Less than a pod's grace period: a batch that takes longer is given up, and done again by the next run."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stream:
    job: str
    """As the log calls it."""
    bootstrap_servers: str
    topic: str
    checkpoint: str
    output: str
    group_id: str
    login: Login
    topic_check_interval_s: int

    def describe(self) -> Topic:
        return describe_topic(
            self.bootstrap_servers, self.topic, timeout_s=DESCRIBE_TIMEOUT_S, login=self.login.librdkafka
        )


def run_stream(
    spark: SparkSession,
    stream: Stream,
    topic: Topic,
    start: Callable[[], StreamingQuery],
    *,
    output_is_begun: bool,
) -> None:
    """Return when the query has ended or was told to stop; raise JobError if it failed or must not go on."""
    storage = Storage(spark)
    lineage = Lineage(topic.name, topic.topic_id, stream.output)
    establish(storage, checkpoint=stream.checkpoint, current=lineage, output_is_begun=output_is_begun)
    committer = OffsetCommitter(stream.bootstrap_servers, stream.group_id, login=stream.login.librdkafka)
    logger.info("%s.started topic=%s topic_id=%s output=%s", stream.job, topic.name, topic.topic_id, stream.output)
    # A run that was killed between a batch and its commit would otherwise show lag that is not there.
    if (done := committed_offsets(storage, stream.checkpoint)) is not None:
        committer.commit(*done)
    for listener in (LagListener(committer), BatchLog(stream.job)):
        spark.streams.addListener(listener)
    with sigterm() as stop:
        query = start()
        try:
            _watch(query, stream, lineage, stop)
        except StreamingQueryException as error:
            raise told(error) from error
        finally:
            query.stop()
    _commit_last(query, committer)
    logger.info(
        "%s.finished topic=%s commits=%d failures=%d", stream.job, topic.name, committer.commits, committer.failures
    )


class BatchLog(StreamingQueryListener):
    """Says one line for each batch that had something to do."""

    def __init__(self, job: str) -> None:
        self._job = job

    def onQueryStarted(self, event: QueryStartedEvent) -> None: ...

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        seconds = progress.durationMs.get("triggerExecution", 0) / 1000
        if progress.numInputRows:
            logger.info(
                "%s.batch batch=%d rows=%d seconds=%.3f lag=%d",
                self._job,
                progress.batchId,
                progress.numInputRows,
                seconds,
                lag_of(progress),
            )

    def onQueryIdle(self, event: QueryIdleEvent) -> None: ...

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None: ...


@contextmanager
def sigterm() -> Iterator[threading.Event]:
    """Give an event that says whether the process was told to stop; elsewhere than in the main thread nobody is told."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def told(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = signal.signal(signal.SIGTERM, told)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)


def _watch(query: StreamingQuery, stream: Stream, lineage: Lineage, stop: threading.Event) -> None:
    """Return when the query has ended; raise if it failed, or if the topic was re-created under it."""
    ended = False
    while not ended:
        check_at = time.monotonic() + stream.topic_check_interval_s
        while not ended and not stop.is_set() and time.monotonic() < check_at:
            ended = bool(query.awaitTermination(POLL_S))
        if stop.is_set():
            return _finish_batch(query, stream.job)
        try:
            topic = stream.describe()
        except TopicMissing:
            raise
        except TopicUnavailable as error:
            # Spark meets the same outage and retries or fails by its own rules.
            logger.warning("%s.topic_check_failed topic=%s error=%s", stream.job, stream.topic, error)
        else:
            check_continues(lineage, Lineage(topic.name, topic.topic_id, lineage.output))
    return None


def _finish_batch(query: StreamingQuery, job: str) -> None:
    """Wait until the batch that runs is over, so that nothing of it has to be done again."""
    batch = _last_batch(query)
    logger.info("%s.stopping after_batch=%d", job, batch + 1)
    deadline = time.monotonic() + BATCH_END_TIMEOUT_S
    while query.isActive and query.status["isTriggerActive"] and _last_batch(query) == batch:
        if time.monotonic() > deadline:
            logger.warning("%s.batch_given_up batch=%d", job, batch + 1)
            return
        time.sleep(0.05)


def _last_batch(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return -1 if progress is None else progress.batchId


def _commit_last(query: StreamingQuery, committer: OffsetCommitter) -> None:
    """Commit the last batch here too: the session may stop before its event reaches the listener."""
    progress = query.lastProgress
    if progress is not None:
        for source in progress.sources:
            if ends := parse_offsets(source.endOffset):
                committer.commit(progress.batchId, ends)
