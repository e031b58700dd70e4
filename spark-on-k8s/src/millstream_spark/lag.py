"""Commits what a query has stored to a consumer group, so that its lag shows in every tool that shows lag.

Display only: nothing here is read back, and a failed commit never stops the query. The truth is the checkpoint.
"""

import json
import logging
import threading
from collections.abc import Mapping

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from millstream_spark.coordinator import wait_out

Offsets = Mapping[str, Mapping[str, int]]
"""Topic to partition to next offset, as Spark writes a Kafka source's progress in JSON."""

logger = logging.getLogger(__name__)


def parse_offsets(text: str | None) -> Offsets:
    """Return what a progress says. PySpark has "None" for what Spark does not know, as in a batch that is done again."""
    if text is None or text == "None":
        return {}
    offsets: Offsets = json.loads(text)
    return offsets


def lag_of(progress: StreamingQueryProgress) -> int:
    """Return how many offsets the batch's end is behind what its sources held when it was planned."""
    return sum(
        distance(parse_offsets(source.endOffset), parse_offsets(source.latestOffset)) for source in progress.sources
    )


def distance(ends: Offsets, latest: Offsets) -> int:
    """Return how many offsets lie between; what is not told counts as nothing."""
    return sum(
        max(0, offset - ends.get(topic, {}).get(partition, offset))
        for topic, partitions in latest.items()
        for partition, offset in partitions.items()
    )


class OffsetCommitter:
    """Invariant: the group never goes back to an older batch, whichever thread brings it. To be closed with its query."""

    def __init__(
        self,
        bootstrap_servers: str,
        group_id: str,
        *,
        timeout_s: float = 10,
        login: Mapping[str, str] | None = None,
    ) -> None:
        """`login`: librdkafka's settings."""
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap_servers,
            "client.id": "millstream-spark-lag",
            "log_level": 5,
        }
        self._admin = AdminClient({**settings, **(login or {})})
        self._group_id = group_id
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._is_closed = False
        self._committed_batch_id = -1
        self.commits = 0
        self.failures = 0

    def commit(self, batch_id: int, offsets: Offsets) -> None:
        with self._lock:
            # Spark tells of a batch when it comes to it, which may be after the query's end.
            if self._is_closed or batch_id <= self._committed_batch_id:
                return
            try:
                wait_out(lambda: self._alter(offsets), timeout_s=self._timeout_s)
            except KafkaException as error:
                self.failures += 1
                logger.warning(
                    "lag.commit_failed group=%s batch=%d failures=%d error=%s",
                    self._group_id,
                    batch_id,
                    self.failures,
                    error,
                )
            else:
                self._committed_batch_id = batch_id
                self.commits += 1

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            # What closes it is a context's end alone.
            self._admin.__exit__(None, None, None)

    def _alter(self, offsets: Offsets) -> None:
        positions = [
            TopicPartition(topic, int(partition), offset)
            for topic, partitions in offsets.items()
            for partition, offset in partitions.items()
        ]
        if not positions:
            return
        request = [ConsumerGroupTopicPartitions(self._group_id, positions)]
        answers = self._admin.alter_consumer_group_offsets(request, request_timeout=self._timeout_s)
        for answered in answers[self._group_id].result().topic_partitions:
            if answered.error is not None:
                raise KafkaException(answered.error)


class LagListener(StreamingQueryListener):
    """Commits the end of each batch once Spark has reported it stored."""

    def __init__(self, committer: OffsetCommitter) -> None:
        self._committer = committer

    def onQueryStarted(self, event: QueryStartedEvent) -> None: ...

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        for source in event.progress.sources:
            if ends := parse_offsets(source.endOffset):
                self._committer.commit(event.progress.batchId, ends)

    def onQueryIdle(self, event: QueryIdleEvent) -> None: ...

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None: ...
