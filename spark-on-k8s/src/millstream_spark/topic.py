"""What the cluster says about a topic, asked with an ordinary Kafka client. Knows nothing of Spark."""

import base64
import struct
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._listoffsets import TimestampSpec
from confluent_kafka.admin._resource import ResourceType

from millstream_spark.coordinator import wait_out
from millstream_spark.errors import TopicUnavailable

# Errors of connections that are kept for one request.
TOLD_LIMIT = 16

# What ListOffsets takes in place of a time.
EARLIEST, LATEST = -2, -1


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    topic_id: str
    """As Kafka's tools print it. A topic that is deleted and created again has another one."""
    partitions: int


def describe_topic(
    bootstrap_servers: str, name: str, *, timeout_s: float, login: Mapping[str, str] | None = None
) -> Topic:
    told: deque[KafkaError] = deque(maxlen=TOLD_LIMIT)
    admin = admin_client(bootstrap_servers, login, told=told.append)
    answer = admin.describe_topics(TopicCollection([name]), request_timeout=timeout_s)[name]
    try:
        description = answer.result()
    except KafkaException as error:
        cause = error.args[0]
        if cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise TopicMissing(f"topic {name} does not exist at {bootstrap_servers}") from error
        # That no answer came is told by the request, and why not (a wrong password, say) beside it.
        admin.poll(0)
        why = next((f": {each.str()}" for each in told if each.code() != KafkaError._ALL_BROKERS_DOWN), "")
        raise TopicUnavailable(
            f"topic {name} at {bootstrap_servers} cannot be described: {cause.str()}{why}"
        ) from error
    return Topic(name, _text(description.topic_id), len(description.partitions))


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open: the offsets of a partition that may be read, up to the first transaction that is still open."""

    start: int
    end: int


def describe_spans(
    bootstrap_servers: str, topic: Topic, *, timeout_s: float, login: Mapping[str, str] | None = None
) -> list[Span]:
    """Return what each partition holds now."""

    starts, ends = (
        offsets_at(bootstrap_servers, topic, position, timeout_s=timeout_s, login=login)
        for position in (EARLIEST, LATEST)
    )
    return [Span(start, max(start, end)) for start, end in zip(starts, ends, strict=True)]


def offsets_at(
    bootstrap_servers: str,
    topic: Topic,
    timestamp_ms: int,
    *,
    timeout_s: float,
    login: Mapping[str, str] | None = None,
) -> list[int]:
    """Return for each partition the first record that is not older than a time, below 0 if none is; or one of its ends."""
    spec = TimestampSpec(timestamp_ms)
    admin = admin_client(bootstrap_servers, login)
    answers = admin.list_offsets(
        {TopicPartition(topic.name, partition): spec for partition in range(topic.partitions)},
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=timeout_s,
    )
    try:
        told = {place.partition: answer.result().offset for place, answer in answers.items()}
    except KafkaException as error:
        raise TopicUnavailable(
            f"offsets of topic {topic.name} at {bootstrap_servers} are not told: {error.args[0].str()}"
        ) from error
    return [told[partition] for partition in range(topic.partitions)]


def is_compacted(
    bootstrap_servers: str, name: str, *, timeout_s: float, login: Mapping[str, str] | None = None
) -> bool:
    admin = admin_client(bootstrap_servers, login)
    resource = ConfigResource(ResourceType.TOPIC, name)
    try:
        answer = admin.describe_configs([resource], request_timeout=timeout_s)
        policy = answer[resource].result()["cleanup.policy"].value
    except KafkaException as error:
        raise TopicUnavailable(
            f"configuration of topic {name} at {bootstrap_servers} is not told: {error.args[0].str()}"
        ) from error
    return "compact" in str(policy).split(",")


def committed_offsets(
    bootstrap_servers: str, group_id: str, topic: Topic, *, timeout_s: float, login: Mapping[str, str] | None = None
) -> list[int]:
    """Return what a group has committed of each partition, below 0 where nothing."""
    places = [TopicPartition(topic.name, partition) for partition in range(topic.partitions)]
    request = [ConsumerGroupTopicPartitions(group_id, places)]
    admin = admin_client(bootstrap_servers, login)

    def ask() -> list[TopicPartition]:
        answer = admin.list_consumer_group_offsets(request, request_timeout=timeout_s)[group_id]
        found: list[TopicPartition] = answer.result().topic_partitions
        return found

    try:
        return [position.offset for position in wait_out(ask, timeout_s=timeout_s)]
    except KafkaException as error:
        raise TopicUnavailable(f"offsets of group {group_id} are not told: {error.args[0].str()}") from error


class TopicMissing(TopicUnavailable):
    """The cluster answers, and has no such topic."""


def admin_client(
    bootstrap_servers: str, login: Mapping[str, str] | None, *, told: Callable[[KafkaError], None] | None = None
) -> AdminClient:
    """To be held until its answers are there. `login`: librdkafka's settings; `told`: hears of connections, when polled."""
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap_servers,
        "client.id": "millstream-spark",
        # Who refuses a connection is told once, by the error.
        "log_level": 2,
    }
    if told is not None:
        settings["error_cb"] = told
    return AdminClient({**settings, **(login or {})})


def _text(topic_id: Any) -> str:
    bits = struct.pack(">qq", topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits())
    return base64.urlsafe_b64encode(bits).decode().rstrip("=")
