"""`millstream produce`: every line of the standard input, or of a file, is a record."""

import asyncio
import json
import sys
from argparse import Namespace
from collections import deque
from typing import Any

from millstream.commands.connection import cluster_of
from millstream.commands.input import opened, read_lines
from millstream.commands.output import Progress
from millstream.commands.pairs import parse_pairs
from millstream_client import Delivered, InvalidData, Producer, ProducerConfig, format_named
from millstream_client.producer import Acks
from millstream_wire.late_dataclass import dataclass
from millstream_wire.records import Compression, Header

_ACKS: dict[str, Acks] = {"all": -1, "1": 1, "0": 0}
_FIELDS = {"key", "value", "headers", "partition", "timestamp"}


@dataclass(frozen=True, slots=True)
class Line:
    """A record as a line describes it."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    partition: int | None
    timestamp_ms: int | None = None


async def work(options: Namespace) -> None:
    config = ProducerConfig(
        acks=_ACKS[options.acks],
        idempotent=not options.no_idempotence,
        linger_ms=options.linger_ms,
        compression=Compression[options.compression.upper()],
    )
    reader = LineReader(options)
    with opened(options.file) as (fd, size):
        async with cluster_of(options) as cluster, Producer(cluster, config) as producer:
            await cluster.topic(options.topic, create=True)
            count = await _send_lines(producer, reader, options.topic, fd, size)
    print(f"wrote {count} {'record' if count == 1 else 'records'} to {options.topic}", file=sys.stderr)


async def _send_lines(producer: Producer, reader: "LineReader", topic: str, fd: int, size: int | None) -> int:
    """Send lines up to the end or the first bad one, and see them acknowledged; return how many there were."""
    count = 0
    waiting: deque[asyncio.Future[Delivered]] = deque()
    progress = Progress("records") if size is None else Progress("bytes", size)
    read = 0
    try:
        async for text in read_lines(fd):
            waiting.append(await _send(producer, topic, reader.read(text, count + 1)))
            count += 1
            read += len(text) + 1
            while waiting[0].done():
                waiting.popleft().result()
                if not waiting:
                    break
            progress.update(count if size is None else read)
    finally:
        await producer.flush()
        progress.end()
    failures = [failure for each in waiting if (failure := each.exception()) is not None]
    if failures:
        raise failures[0]
    return count


async def _send(producer: Producer, topic: str, line: Line) -> "asyncio.Future[Delivered]":
    return await producer.send(
        topic,
        line.value,
        key=line.key,
        headers=line.headers,
        partition=line.partition,
        timestamp_ms=line.timestamp_ms,
    )


class LineReader:
    """Reads lines the way the options say."""

    def __init__(self, options: Namespace) -> None:
        self._json: bool = options.json
        self._separator: str | None = options.key_separator
        self._key_format = format_named(options.key_format)
        self._value_format = format_named(options.value_format)
        self._key = None if options.key is None else self._key_format.to_bytes(self._key_format.parse(options.key))
        self._headers: tuple[Header, ...] = tuple(
            (name, value.encode()) for name, value in parse_pairs(options.header).items()
        )
        self._partition: int | None = options.partition

    def read(self, text: bytes, number: int) -> Line:
        try:
            return self._read_json(text) if self._json else self._read_text(text.decode())
        except (InvalidData, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise InvalidData(f"line {number}: {error}") from error

    def _read_text(self, text: str) -> Line:
        key = self._key
        if self._separator is not None:
            key_text, separator, text = text.partition(self._separator)
            if not separator:
                raise InvalidData(f"no {self._separator!r} after a key")
            key = self._key_format.to_bytes(self._key_format.parse(key_text))
        value = self._value_format.to_bytes(self._value_format.parse(text))
        return Line(key, value, self._headers, self._partition)

    def _read_json(self, text: bytes) -> Line:
        fields = json.loads(text)
        if not isinstance(fields, dict) or not fields.keys() <= _FIELDS:
            raise InvalidData(f"an object with {', '.join(sorted(_FIELDS))} expected")
        headers = fields.get("headers") or {}
        if not isinstance(headers, dict):
            raise InvalidData("headers are an object of texts")
        return Line(
            key=self._key_format.to_bytes(fields["key"]) if "key" in fields else self._key,
            value=self._value_format.to_bytes(fields.get("value")),
            headers=self._headers + tuple((name, _header(value)) for name, value in headers.items()),
            partition=_integer(fields, "partition", self._partition),
            timestamp_ms=_integer(fields, "timestamp", None),
        )


def _header(value: Any) -> bytes | None:
    if value is not None and not isinstance(value, str):
        raise InvalidData("headers are an object of texts")
    return None if value is None else value.encode()


def _integer(fields: dict[str, Any], name: str, default: int | None) -> int | None:
    value = fields.get(name, default)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise InvalidData(f"{name} is no whole number: {value!r}")
    return value
