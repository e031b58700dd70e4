"""One message, written as a person typed it."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from millstream_client import Cluster, Delivered, InvalidData, Producer, ProducerConfig, Refused, format_named
from millstream_console.asked import name_in
from millstream_wire.errors import ErrorCode

DELIVERY_MS = 10_000
HEADERS_MAX = 100


async def send(cluster: Cluster, asked: Mapping[str, Any]) -> Delivered:
    """Raises KafkaError."""
    topic, partition = name_in(asked, "topic"), asked.get("partition")
    found = await cluster.topic(topic)
    if partition is not None and not (isinstance(partition, int) and 0 <= partition < len(found.partitions)):
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, subject=f"{topic}-{partition}")
    headers = asked.get("headers") or []
    if not isinstance(headers, list) or len(headers) > HEADERS_MAX:
        raise InvalidData(f"headers must be a list of at most {HEADERS_MAX}")
    made = [(str(each.get("name", "")), bytes_of("header", each)) for each in headers if isinstance(each, dict)]
    key, value = bytes_of("key", asked.get("key")), bytes_of("value", asked.get("value"))
    async with Producer(cluster, ProducerConfig(linger_ms=0, delivery_timeout_ms=DELIVERY_MS)) as producer:
        sent = await producer.send(topic, value, key=key, headers=made, partition=partition)
        async with asyncio.timeout(2 * DELIVERY_MS / 1000):
            return await sent


def bytes_of(what: str, typed: Any) -> bytes | None:
    """Of `{"format": ..., "text": ...}`; nothing at all is Kafka's null."""
    if typed is None:
        return None
    if not isinstance(typed, dict):
        raise InvalidData(f"{what} must have a format and a text")
    name, text = str(typed.get("format", "string")), str(typed.get("text", ""))
    if name == "json":
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidData(f"{what} is no JSON: {error}") from None
        return text.encode()  # as it was typed, its spaces and the order of its fields included
    found = format_named(name)
    return found.to_bytes(found.parse(text))
