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

from millstream_spark.checkpoint import committed_offsets, initial_offsets
from millstream_spark.errors import BadOffsets, TopicUnavailable
from millstream_spark.failure import told
from millstream_spark.lag import LagListener, OffsetCommitter, lag_of
from millstream_spark.lineage import Lineage, check_continues, establish
from millstream_spark.login import Login
from millstream_spark.options import parse_starting_offsets
from millstream_spark.storage import Storage
from millstream_spark.topic import EARLIEST, LATEST, Topic, TopicMissing, describe_spans, describe_topic

DESCRIBE_TIMEOUT_S = 30
POLL_S = 1
EVENTS_TIMEOUT_S = 30
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
    starting_offsets: str
    """Where the first run begins."""
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
    stop: threading.Event,
) -> None:
    """Return when the query has ended or was told to stop; raise JobError if it failed or must not go on."""
    storage = Storage(spark)
    lineage = Lineage(topic.name, topic.topic_id, stream.output)
    establish(storage, checkpoint=stream.checkpoint, current=lineage, output_is_begun=output_is_begun)
    done = committed_offsets(storage, stream.checkpoint)
    if initial_offsets(storage, stream.checkpoint) is None:
        _check_beginning(stream, topic)
    logger.info("%s.started topic=%s topic_id=%s output=%s", stream.job, topic.name, topic.topic_id, stream.output)
    committer = OffsetCommitter(stream.bootstrap_servers, stream.group_id, login=stream.login.librdkafka)
    lag, log = LagListener(committer), BatchLog(stream.job)
    for listener in (lag, log):
        spark.streams.addListener(listener)
    try:
        # A run that was killed between a batch and its commit would otherwise show lag that is not there.
        if done is not None:
            committer.commit(*done)
        if not stop.is_set():
            _run(start(), stream, lineage, stop, log.terminated)
    finally:
        for listener in (lag, log):
            spark.streams.removeListener(listener)
        committer.close()
    logger.info(
        "%s.finished topic=%s commits=%d failures=%d", stream.job, topic.name, committer.commits, committer.failures
    )


def _check_beginning(stream: Stream, topic: Topic) -> None:
    """Raise BadOffsets for a first batch that would begin where the topic does not."""
    wanted = parse_starting_offsets(stream.starting_offsets, topic.name)
    if wanted is None:
        return
    login = stream.login.librdkafka
    spans = describe_spans(stream.bootstrap_servers, topic, timeout_s=DESCRIBE_TIMEOUT_S, login=login)
    if wanted.keys() != set(range(len(spans))):
        raise BadOffsets(f"{topic.name} has {len(spans)} partitions, and starting offsets name {sorted(wanted)}")
    for partition, offset in wanted.items():
        span = spans[partition]
        if offset not in (EARLIEST, LATEST) and not span.start <= offset <= span.end:
            raise BadOffsets(f"partition {partition} holds {span.start} to {span.end}, not {offset}")


def _run(
    query: StreamingQuery, stream: Stream, lineage: Lineage, stop: threading.Event, terminated: threading.Event
) -> None:
    try:
        _watch(query, stream, lineage, stop)
    except StreamingQueryException as error:
        # A topic that is gone, or another by now, is why.
        _check_topic(stream, lineage)
        raise told(error) from error
    finally:
        query.stop()
        # Batches are told of later than they end, in their order, and the query's own end last.
        terminated.wait(EVENTS_TIMEOUT_S)


class BatchLog(StreamingQueryListener):
    """Says one line for each batch that had something to do."""

    def __init__(self, job: str) -> None:
        self._job = job
        self.terminated = threading.Event()

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

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self.terminated.set()


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
        _check_topic(stream, lineage)
    return None


def _check_topic(stream: Stream, lineage: Lineage) -> None:
    """Raise TopicMissing or LineageBroken if the topic is not there any more, or is another."""
    try:
        topic = stream.describe()
    except TopicMissing:
        raise
    except TopicUnavailable as error:
        # Spark meets the same outage and retries or fails by its own rules.
        logger.warning("%s.topic_check_failed topic=%s error=%s", stream.job, stream.topic, error)
    else:
        check_continues(lineage, Lineage(topic.name, topic.topic_id, lineage.output))


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
