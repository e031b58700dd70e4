"""`millstream consume`: print a topic's messages, up to what is there now, or for ever."""

import sys
from argparse import Namespace
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from millstream.commands.connection import cluster_of
from millstream.commands.output import Progress, print_json, text_of, time_text
from millstream_client import (
    EARLIEST,
    FORMATS,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    Cluster,
    Commit,
    Consumer,
    ConsumerConfig,
    FetchConfig,
    GroupConfig,
    InvalidData,
    Message,
    TopicPartition,
    format_named,
)
from millstream_client.offsets import find_offsets

_LOOK_MS = 200


@dataclass(frozen=True, slots=True)
class Start:
    """Where to begin: everywhere at one offset, or at a time, EARLIEST or LATEST."""

    time: int = EARLIEST
    offset: int | None = None


def parse_start(text: str) -> Start:
    match text:
        case "earliest":
            return Start()
        case "latest":
            return Start(LATEST)
        case _ if text.isascii() and text.isdecimal():
            return Start(offset=int(text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidData(f"--from: earliest, latest, an offset or a time expected, not {text!r}") from None
    return Start(int(moment.timestamp() * 1000))


async def work(options: Namespace) -> None:
    start = parse_start(options.start)
    if options.group is not None and (options.partition or start.offset is not None):
        raise InvalidData("a group decides about partitions and offsets: no --partition, --from earliest or latest")
    async with cluster_of(options) as cluster:
        topic = await cluster.topic(options.topic)
        partitions = [TopicPartition(topic.name, each.index) for each in topic.partitions]
        wanted = [each for each in partitions if not options.partition or each.partition in options.partition]
        isolation_level = READ_COMMITTED if options.committed_only else READ_UNCOMMITTED
        ends = await find_offsets(cluster, dict.fromkeys(wanted, LATEST), isolation_level=isolation_level)
        config = ConsumerConfig(
            start=start.time,
            offsets=await _clamped(cluster, start.offset, ends),
            only=frozenset(TopicPartition(topic.name, each) for each in options.partition)
            if options.partition
            else None,
            group=GroupConfig(options.group) if options.group is not None else None,
            commit=Commit.AFTER,
            key_format=FORMATS["bytes"] if options.key_format is None else format_named(options.key_format),
            value_format=FORMATS["bytes"] if options.value_format is None else format_named(options.value_format),
            fetch=FetchConfig(isolation_level=isolation_level, reset_to=EARLIEST),
        )
        await _print(cluster, config, options, ends)


async def _clamped(cluster: Cluster, offset: int | None, ends: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The offset in every partition, or the nearest that there is."""
    if offset is None:
        return {}
    firsts = await find_offsets(cluster, dict.fromkeys(ends, EARLIEST))
    return {each: min(max(offset, firsts[each]), end) for each, end in ends.items()}


async def _print(cluster: Cluster, config: ConsumerConfig, options: Namespace, ends: dict[TopicPartition, int]) -> None:
    left = options.max_messages if options.max_messages is not None else sys.maxsize
    count = 0
    # Counting is only of use where the messages themselves do not show.
    progress = Progress("messages") if not sys.stdout.isatty() else None
    async with Consumer(cluster, [options.topic], config) as consumer:
        while left > 0 and (options.follow or not _has_read(consumer, ends)):
            messages = (await consumer.poll(timeout_ms=_LOOK_MS))[:left]
            left -= len(messages)
            count += len(messages)
            for message in messages:
                _print_message(message, options)
            sys.stdout.flush()
            consumer.mark_done(messages)
            if progress is not None:
                progress.update(count)
    if progress is not None:
        progress.end()


def _has_read(consumer: Consumer, ends: dict[TopicPartition, int]) -> bool:
    """Whether all is printed that was there at the beginning; a group's member waits for its share first."""
    positions = consumer.positions
    return consumer.is_assigned and all(offset >= ends.get(each, 0) for each, offset in positions.items())


def _print_message(message: Message, options: Namespace) -> None:
    if options.json:
        print_json(_document(message))
    elif options.values:
        value = message.value
        sys.stdout.buffer.write((value if isinstance(value, bytes) else str(value or "").encode()) + b"\n")
    else:
        place = f"{message.topic}-{message.partition}@{message.offset}"
        headers = " ".join(f"{name}={text_of(value)}" for name, value in message.headers)
        parts = [place, time_text(message.timestamp_ms), _shown(message.key), _shown(message.value)]
        print("  ".join([*parts, headers] if headers else parts))


def _document(message: Message) -> dict[str, Any]:
    return {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp_ms,
        "key": _plain(message.key),
        "value": _plain(message.value),
        "headers": [[name, text_of(value)] for name, value in message.headers],
    }


def _plain(value: Any) -> Any:
    return text_of(value) if isinstance(value, bytes) else value


def _shown(value: Any) -> str:
    return "-" if value is None else str(_plain(value))
