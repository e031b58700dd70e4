"""`millstream consume`: print a topic's messages, up to what is there now, or for ever."""

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

from millstream.commands.chosen import Chosen
from millstream.commands.connection import cluster_of
from millstream.commands.existing import existing_topic
from millstream.commands.output import Progress, json_text, text_of, time_text
from millstream.commands.starts import Start, offsets_at, parse_start
from millstream.commands.template import Template, raw
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


async def work(options: Namespace) -> None:
    chosen = Chosen.of(options)
    async with cluster_of(options) as cluster:
        now_ms = cluster.world.now_ms()
        start = parse_start(options.start, "--from", now_ms)
        until = parse_start(options.until, "--until", now_ms) if options.until is not None else None
        if options.group is not None and (options.partition or until or start.time not in (EARLIEST, LATEST)):
            raise InvalidData("a group decides about partitions and offsets: no --partition, --from earliest or latest")
        topic = await existing_topic(cluster, options.topic)
        partitions = [TopicPartition(topic.name, each.index) for each in topic.partitions]
        wanted = [each for each in partitions if not options.partition or each.partition in options.partition]
        isolation_level = READ_COMMITTED if options.committed_only else READ_UNCOMMITTED
        ends = await find_offsets(cluster, dict.fromkeys(wanted, LATEST), isolation_level=isolation_level)
        config = ConsumerConfig(
            start=start.time if start.time is not None else EARLIEST,
            offsets=await offsets_at(cluster, start, ends) if options.group is None else {},
            only=frozenset(TopicPartition(topic.name, each) for each in options.partition)
            if options.partition
            else None,
            group=GroupConfig(options.group) if options.group is not None else None,
            commit=Commit.AFTER,
            key_format=FORMATS["bytes"] if options.key_format is None else format_named(options.key_format),
            value_format=FORMATS["bytes"] if options.value_format is None else format_named(options.value_format),
            fetch=FetchConfig(isolation_level=isolation_level, reset_to=EARLIEST),
        )
        stops = await _stops(cluster, until, ends, options)
        await _print(cluster, config, options, Printing(options, chosen), stops)


async def _stops(
    cluster: Cluster, until: Start | None, ends: dict[TopicPartition, int], options: Namespace
) -> dict[TopicPartition, int] | None:
    """Where to stop in each partition; None: nowhere. Who follows may wait for an offset that is still to come."""
    if until is None:
        return None if options.follow else ends
    if options.follow and until.offset is not None:
        return dict.fromkeys(ends, until.offset)
    return await offsets_at(cluster, until, ends)


async def _print(
    cluster: Cluster,
    config: ConsumerConfig,
    options: Namespace,
    printing: "Printing",
    stops: dict[TopicPartition, int] | None,
) -> None:
    left = options.max_messages if options.max_messages is not None else sys.maxsize
    # A group's members, and who follows, read on beyond an end that was there at the beginning.
    ends = {each.partition: offset for each, offset in stops.items()} if stops is not None else {}
    count = 0
    # Counting is only of use where the messages themselves do not show.
    progress = Progress("messages") if not sys.stdout.isatty() else None
    async with Consumer(cluster, [options.topic], config) as consumer:
        while left > 0 and (stops is None or not _has_read(consumer, stops)):
            messages = await consumer.poll(timeout_ms=_LOOK_MS)
            shown = printing.chosen([each for each in messages if each.offset < ends.get(each.partition, sys.maxsize)])
            if len(shown) >= left:
                shown = shown[:left]
                messages = messages[: messages.index(shown[-1]) + 1]
            left -= len(shown)
            sys.stdout.buffer.write(printing.render(shown))
            sys.stdout.flush()
            count += len(messages)
            consumer.mark_done(messages)
            if progress is not None:
                progress.update(count)
    if progress is not None:
        progress.end()


def _has_read(consumer: Consumer, ends: dict[TopicPartition, int]) -> bool:
    """Whether all is printed that was there at the beginning; a group's member waits for its share first."""
    positions = consumer.positions
    return consumer.is_assigned and all(offset >= ends.get(each, 0) for each, offset in positions.items())


class Printing:
    """Which messages are wanted, and what is printed of each: what the options say, decided once."""

    def __init__(self, options: Namespace, chosen: Chosen) -> None:
        self.chosen = chosen.of_all
        self.render: Callable[[Sequence[Message]], bytes]
        if options.format is not None:
            self.render = Template.of(options.format).render
        elif options.json:
            self.render = _json_lines
        else:
            self.render = _values if options.values else _lines


def _json_lines(messages: Sequence[Message]) -> bytes:
    return "".join([f"{json_text(_document(each))}\n" for each in messages]).encode()


def _values(messages: Sequence[Message]) -> bytes:
    return b"\n".join([*[raw(each.value) for each in messages], b""])


def _lines(messages: Sequence[Message]) -> bytes:
    return "".join([_line(each) for each in messages]).encode()


def _line(message: Message) -> str:
    topic, partition, offset, timestamp_ms, key, value, headers = message
    line = f"{topic}-{partition}@{offset}  {time_text(timestamp_ms)}  {_shown(key)}  {_shown(value)}"
    if headers:
        line += "  " + " ".join([f"{name}={text_of(content)}" for name, content in headers])
    return line + "\n"


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
