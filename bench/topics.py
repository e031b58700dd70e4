"""Topics for the bench's servers, which may have been started a moment ago."""

import time
from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

_PATIENCE_S = 30


def create(admin: AdminClient, topics: Sequence[NewTopic]) -> None:
    """Of a cluster that has just been started not every broker may be registered yet."""
    deadline = time.monotonic() + _PATIENCE_S
    for topic in topics:
        while True:
            try:
                admin.create_topics([topic])[topic.topic].result(_PATIENCE_S)
                break
            except KafkaException as refused:
                if refused.args[0].code() != KafkaError.INVALID_REPLICATION_FACTOR or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
