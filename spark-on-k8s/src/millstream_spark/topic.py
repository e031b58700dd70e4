"""What the cluster says about a topic, asked with an ordinary Kafka client. Knows nothing of Spark."""

import base64
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from millstream_spark.errors import TopicUnavailable


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    topic_id: str
    """As Kafka's tools print it. A topic that is deleted and created again has another one."""
    partitions: int


def describe_topic(
    bootstrap_servers: str, name: str, *, timeout_s: float, login: Mapping[str, str] | None = None
) -> Topic:
    """`login`: librdkafka's settings."""
    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": bootstrap_servers,
        "client.id": "millstream-spark",
        "log_level": 5,
    }
    admin = AdminClient({**settings, **(login or {})})
    answer = admin.describe_topics(TopicCollection([name]), request_timeout=timeout_s)[name]
    try:
        description = answer.result()
    except KafkaException as error:
        cause = error.args[0]
        if cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise TopicMissing(f"topic {name} does not exist at {bootstrap_servers}") from error
        raise TopicUnavailable(f"topic {name} at {bootstrap_servers} cannot be described: {cause.str()}") from error
    return Topic(name, _text(description.topic_id), len(description.partitions))


class TopicMissing(TopicUnavailable):
    """The cluster answers, and has no such topic."""


def _text(topic_id: Any) -> str:
    bits = struct.pack(">qq", topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits())
    return base64.urlsafe_b64encode(bits).decode().rstrip("=")
