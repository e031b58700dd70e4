"""Never-ending message streams of a topic, for plain Python: `for message in stream`, blocking until there is more.

    from millstream import streams

    with streams("orders", 3) as (first, second, third):  # each gets an even share of the partitions
        for message in first:
            print(message.key, message.value)

Streams may be read from different threads, each from one at a time. The network is a background thread's business; all
streams of one call share it. Nothing here decides what is read or committed: that is `client/consumer.py`.
"""

import asyncio
import concurrent.futures
import threading
import weakref
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import field, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, TypeVar, overload

from millstream_client import (
    DEFAULT_BOOTSTRAP,
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    Closed,
    Commit,
    Consumer,
    ConsumerConfig,
    FetchConfig,
    GroupConfig,
    Message,
    Share,
    format_named,
    open_cluster,
)
from millstream_wire.late_dataclass import dataclass

T = TypeVar("T")
_CLOSE_TIMEOUT_S = 30


def streams(
    topic: str,
    count: int = 1,
    *,
    bootstrap: str = DEFAULT_BOOTSTRAP,
    group: str | None = None,
    start: Literal["earliest", "latest"] | datetime = "earliest",
    commit: Literal["after", "before", "manual"] = "after",
    key: str = "bytes",
    value: str = "bytes",
    committed_only: bool = False,
    properties: Mapping[str, str] | None = None,
) -> "Streams":
    """Open `count` streams that split the topic's partitions evenly; a topic that is not there is an error.

    Without a group every call reads everything from `start` on. With one, all streams that name it, in any process,
    share the topic, and go on where the group has committed: `after` a message was handled (the next one was asked
    for; at least once), `before` it is handed out (at most once), or when `MessageStream.commit` is called.
    `key` and `value` name formats: bytes, string, int, long, float, double, json, null. `properties` say how to connect,
    by Kafka's names: security.protocol, ssl.truststore.location, ...
    """
    if count < 1:
        raise ValueError(f"{count} streams")
    begin = (
        int(start.timestamp() * 1000)
        if isinstance(start, datetime)
        else {"earliest": EARLIEST, "latest": LATEST}[start]
    )
    config = ConsumerConfig(
        start=begin,
        group=GroupConfig(group) if group is not None else None,
        commit=Commit(commit),
        key_format=format_named(key),
        value_format=format_named(value),
        fetch=FetchConfig(
            isolation_level=READ_COMMITTED if committed_only else READ_UNCOMMITTED,
            reset_to=begin if begin < 0 else EARLIEST,
        ),
    )
    engine = _Engine(topic, count, bootstrap, config, properties or {})
    engine.start()
    return Streams(engine)


class MessageStream(Iterator[Message]):
    """One share of a topic. Ends only when it is closed."""

    def __init__(self, parent: "Streams", engine: "_Engine", cursor: "_Cursor") -> None:
        self._parent = parent  # or it might be collected, and so closed, while this is in use
        self._engine = engine
        self._cursor = cursor

    def __iter__(self) -> "MessageStream":
        return self

    def __next__(self) -> Message:
        message = self.next()
        if message is None:
            raise StopIteration
        return message

    def next(self, timeout_s: float | None = None) -> Message | None:
        """The next message; None if the stream is closed, or none came in time."""
        cursor = self._cursor
        if cursor.at == len(cursor.chunk) and not self._fill(timeout_s):
            return None
        if self._engine.is_closed:
            return None
        cursor.at += 1
        return cursor.chunk[cursor.at - 1]

    def commit(self) -> None:
        """Store that this stream's group is done with all messages so far, the one in hand included."""
        self._engine.run(self._engine.commit(self._cursor))

    def close(self) -> None:
        """Close this stream and those opened with it."""
        self._parent.close()

    def _fill(self, timeout_s: float | None) -> bool:
        """Wait for the next chunk. What an interrupt or a timeout leaves waiting is waited for again, nothing is lost."""
        cursor = self._cursor
        if cursor.pending is None:
            try:
                cursor.pending = self._engine.submit(self._engine.next_chunk(cursor))
            except Closed:
                return False
        try:
            chunk = cursor.pending.result(timeout_s)
        except concurrent.futures.TimeoutError:
            return False
        except concurrent.futures.CancelledError:
            self._engine.raise_failure()
            return False
        except Exception:
            cursor.pending = None
            raise
        cursor.pending = None
        cursor.chunk, cursor.at = chunk, 0
        return True


class Streams(Sequence[MessageStream]):
    """What `streams` opened, to unpack or to index. Closed at the end of a `with`, or when nobody holds it any more."""

    def __init__(self, engine: "_Engine") -> None:
        self._engine = engine
        self._streams = tuple(MessageStream(self, engine, cursor) for cursor in engine.cursors)
        self._finalizer = weakref.finalize(self, engine.close)

    @overload
    def __getitem__(self, index: int) -> MessageStream: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[MessageStream]: ...
    def __getitem__(self, index: int | slice) -> MessageStream | Sequence[MessageStream]:
        return self._streams[index]

    def __len__(self) -> int:
        return len(self._streams)

    def __enter__(self) -> "Streams":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every stream, wherever it is being waited for; commit what was handled, leave the group."""
        self._finalizer.detach()
        self._engine.close()


@dataclass(slots=True, eq=False)
class _Cursor:
    """How far the reader of one stream is within the messages it was given; `at` is behind the one in hand."""

    consumer: Consumer | None = None
    chunk: list[Message] = field(default_factory=list)
    at: int = 0
    pending: "concurrent.futures.Future[list[Message]] | None" = None


class _Engine:
    """The background thread: an event loop with one consumer per stream."""

    def __init__(
        self, topic: str, count: int, bootstrap: str, config: ConsumerConfig, properties: Mapping[str, str]
    ) -> None:
        self._topic = topic
        self._bootstrap = bootstrap
        self._properties = properties
        self._config = config
        self.cursors = [_Cursor() for _ in range(count)]
        self.is_closed = False
        self._closing = threading.Lock()
        self._submitting = threading.Lock()
        self._pending: set[concurrent.futures.Future[Any]] = set()
        self._failure: BaseException | None = None
        self._opened = threading.Event()
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._calls: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._thread_main, name=f"streams-{topic}", daemon=True)

    def start(self) -> None:
        """Return once the consumers are there, or raise what kept them from it."""
        self._thread.start()
        self._opened.wait()
        self.raise_failure()

    def close(self) -> None:
        with self._closing:
            with self._submitting:
                self.is_closed = True
            if self._loop is not None and self._stop is not None and self._thread.is_alive():
                self._loop.call_soon_threadsafe(self._stop.set)
            if self._thread is not threading.current_thread():
                self._thread.join(_CLOSE_TIMEOUT_S)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def raise_failure(self) -> None:
        if self._failure is not None:
            self.is_closed = True
            failure, self._failure = self._failure, None
            raise failure

    def submit(self, work: Coroutine[Any, Any, T]) -> "concurrent.futures.Future[T]":
        with self._submitting:
            if not self.is_closed and self._loop is not None:
                future = asyncio.run_coroutine_threadsafe(self._call(work), self._loop)
                self._pending.add(future)
                future.add_done_callback(self._pending.discard)
                return future
        work.close()
        self.raise_failure()
        raise Closed("the stream is closed")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.submit(work).result()

    # ---- on the loop ----

    async def next_chunk(self, cursor: _Cursor) -> list[Message]:
        assert cursor.consumer is not None
        cursor.consumer.mark_done(cursor.chunk)
        cursor.chunk, cursor.at = [], 0
        return await cursor.consumer.poll()

    async def commit(self, cursor: _Cursor) -> None:
        assert cursor.consumer is not None
        cursor.consumer.mark_done(cursor.chunk[: cursor.at])
        await cursor.consumer.commit()

    def _thread_main(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self._failure = _only(error)
        finally:
            with self._submitting:
                self.is_closed = True
            for future in list(self._pending):  # what the loop never got to
                future.cancel()
            self._opened.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with open_cluster(self._bootstrap, properties=self._properties) as cluster, AsyncExitStack() as consumers:
            await cluster.topic(self._topic)
            for index, cursor in enumerate(self.cursors):
                # A group gives each of its members a share; without one we do.
                share = Share(index, len(self.cursors)) if self._config.group is None else Share()
                consumer = Consumer(cluster, [self._topic], replace(self._config, share=share))
                cursor.consumer = await consumers.enter_async_context(consumer)
            self._opened.set()
            await self._stop.wait()
            for call in self._calls:
                call.cancel()
            if self._calls:
                await asyncio.wait(self._calls)
            for cursor in self.cursors:
                if cursor.consumer is not None and cursor.at:
                    # The one in hand may not have been handled.
                    cursor.consumer.mark_done(cursor.chunk[: cursor.at - 1])

    async def _call(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        try:
            return await work
        finally:
            self._calls.discard(task)


def _only(error: BaseException) -> BaseException:
    """The error itself, where a group holds but one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
