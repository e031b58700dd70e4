"""The session with one leader (KIP-227): asks, does what the answer says, and asks again, for as long as there is something to ask.

All of it happens where an answer arrives, without a task or a copy of the answer, because it happens for every record that is
written. Who connects, rests after a failure and asks on a second connection is the fetcher.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.partition.follower import NO_EPOCH, NO_OFFSET, Answer, FetchFrom
from millstream_broker.core.partition.follower_session import SESSION_ERRORS, Ask, FollowerSession
from millstream_broker.core.reads.fetch_session import INITIAL_EPOCH, NO_SESSION_ID
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.replication.copying import Copying
from millstream_broker.shell.replication.followed import Flushing, Followed, answer_of, checked
from millstream_broker.shell.replication.requests import asked_of, message_of
from millstream_broker.shell.replication.throttling import FollowerThrottling
from millstream_cluster.ids import NodeId
from millstream_runtime.network.frames import Frame, Part
from millstream_runtime.nodes.client import ClientError, Disconnected, RequestTimedOut
from millstream_runtime.nodes.pipeline import Asker, Pipeline
from millstream_wire.api import ApiKey
from millstream_wire.codec import DecodeError, decode, encode_parts
from millstream_wire.errors import ErrorCode
from millstream_wire.header import RequestHeader, decode_response_header, encode_request_header
from millstream_wire.messages import FetchRequest, FetchResponse
from millstream_wire.messages.fetch import PartitionData
from millstream_wire.primitive import uuid_of
from millstream_wire.usual.fetch_request import write_fetch
from millstream_wire.usual.fetched import PartitionFetched, read_fetched

logger = logging.getLogger(__name__)

YIELD_BYTES: Final = 256 * 1024
"""After so much was copied others get the event loop."""
FLUSH_WAIT_MS: Final = 5
"""While something is flushed a leader may wait this long with its answer, so that it hears of the flush soon."""


class Asking(Asker):
    """Invariant: each followed partition is in at most one request that is under way."""

    def __init__(
        self,
        leader: int,
        broker: Broker,
        broker_epoch: Callable[[], int],
        copying: Copying,
        throttling: FollowerThrottling,
    ) -> None:
        self._leader = NodeId(leader)
        self._broker = broker
        self._world = broker.world
        self._broker_epoch = broker_epoch
        self._copying = copying
        self._throttling = throttling
        self._followed: dict[ReplicaKey, Followed] = {}
        self._changed: dict[ReplicaKey, None] = {}
        """Whose question may differ from what the session has."""
        self._session = FollowerSession()
        self._in_session: dict[ReplicaKey, Followed] = {}
        """Whose questions those of the session are."""
        self._late: dict[ReplicaKey, Followed] = {}
        """Who is in the request on the second connection."""
        self._flushing = Flushing()
        self.is_asking = False
        """A request of the session is under way, or its answer is being taken."""
        self.waits_until_ms = 0
        """Until then the leader may wait with its answer, if it is."""
        self._wait_ms = 0
        """How long it may wait."""
        self.is_silent = False
        """The leader did not answer, and somebody was told."""
        self.wake = asyncio.Event()
        """There may be something to ask, and nothing is asked."""
        self.wake_late = asyncio.Event()
        """There may be something to ask that is not in the session, which is being asked."""
        self.was_answered = False
        """Since `begin`."""
        self._pipeline: Pipeline | None = None
        self._client_id = b""
        self._version = 0
        self._registered: object = None
        """The leader as it was when its address was looked up."""
        self._ask = Ask(NO_SESSION_ID, INITIAL_EPOCH, {}, ())
        """What is asked, or about to be."""
        self._ended: asyncio.Future[ErrorCode] | None = None
        self._is_waiting = False
        """A request is under way."""
        self._deadline_ms = 0
        """By then it is answered, or it never will be."""
        self._timer: asyncio.TimerHandle | None = None
        self._left: Sequence[PartitionFetched | tuple[UUID, PartitionData]] = ()
        self._left_at = 0
        """From there on an answer is still to be taken."""

    def add(self, followed: Followed) -> None:
        self._followed[followed.replica.key] = followed
        self.on_changed(followed)

    def remove(self, followed: Followed) -> None:
        if self._followed.get(followed.replica.key) is followed:
            del self._followed[followed.replica.key]
            self._changed[followed.replica.key] = None

    def on_changed(self, followed: Followed) -> None:
        """There may be another question to ask for it."""
        if followed.is_over:
            return
        key = followed.replica.key
        self._changed[key] = None
        if not self.is_asking:
            if followed.question() is not None:
                self.wake.set()
        elif self._in_session.get(key) is not followed and followed.question() is not None:
            self.wake_late.set()

    # ---- the session ----

    def take_in(self) -> bool:
        """Take what is new into the session; whether there is anything to ask in it, which is being done from now on."""
        self._ask = self._next()
        self.is_asking = bool(self._session.questions)
        if not self.is_asking:
            self._session.begin_again()  # what was to be forgotten has not been said
        self._wait_ms = self.longest_wait_ms
        self.waits_until_ms = self._world.monotonic_ms() + self._wait_ms
        return self.is_asking

    @property
    def longest_wait_ms(self) -> int:
        """How long a leader may wait with its answer, if nothing comes."""
        return FLUSH_WAIT_MS if self._flushing.is_under_way else self._broker.config.replica_fetch_wait_max_ms

    def _next(self) -> Ask:
        """Who is in the other request waits for its answer first."""
        questions: dict[ReplicaKey, FetchFrom | None] = {}
        for key in self._changed:
            followed = self._followed.get(key)
            question = None if followed is None or key in self._late else self._throttling.question(followed)
            questions[key] = question
            self._flushing.look_at(key, followed, question)
            if followed is None or question is None:
                self._in_session.pop(key, None)
            else:
                self._in_session[key] = followed
        self._changed.clear()
        return self._session.next(questions)

    def begin(
        self, pipeline: Pipeline, *, version: int, client_id: str, registered: object
    ) -> "asyncio.Future[ErrorCode]":
        """Ask what was taken in on this connection, and go on; `registered` is the leader, whose address that is.

        Done with NONE when there is nothing to ask, or the leader may have another address, and with an error where the leader
        refuses all; a ClientError where it does not answer.
        """
        ended: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        self._pipeline, self._registered, self._ended = pipeline, registered, ended
        self._version, self._client_id = version, client_id.encode()
        self.was_answered = False
        self._send(pipeline)
        self._arm(self._deadline_ms - self._world.monotonic_ms())
        return ended

    def lost(self) -> None:
        """It is not known whether the leader has what was asked last."""
        self._session.begin_again()

    def end(self) -> None:
        """Nothing is asked any more, and what still comes is for nobody."""
        self.is_asking = self._is_waiting = False
        self._left = ()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send(self, pipeline: Pipeline) -> None:
        if pipeline.closed:
            self._fail(Disconnected(f"{pipeline.peer}: {pipeline.closed_reason}"))
            return
        ask, config = self._ask, self._broker.config
        wait_ms = self._wait_ms
        self._deadline_ms = self._world.monotonic_ms() + wait_ms + config.replica_socket_timeout_ms
        self._is_waiting = True
        correlation_id = pipeline.next_id()
        request = write_fetch(
            self._version, correlation_id, self._client_id, asked_of(ask, config, self._broker_epoch(), wait_ms)
        )
        if request is not None:
            pipeline.ask_small(correlation_id, request, self)
            return
        header = RequestHeader(ApiKey.FETCH, self._version, correlation_id, self._client_id.decode())
        body = cast(list[Part], encode_parts(self.message(ask, wait_ms), self._version))
        pipeline.ask(correlation_id, [encode_request_header(header), *body], self)

    def message(self, ask: Ask, wait_ms: int) -> FetchRequest:
        return message_of(ask, self._broker.config, self._broker_epoch(), wait_ms)

    # ---- answers ----

    def on_answer(self, frame: Frame) -> None:
        self._is_waiting = False
        self._guarded(frame)

    def on_no_answer(self, reason: str) -> None:
        self._is_waiting = False
        peer = "" if self._pipeline is None else self._pipeline.peer
        self._fail(Disconnected(f"{peer}: {reason}"))

    def _go_on(self) -> None:
        self._guarded(None)

    def _guarded(self, frame: Frame | None) -> None:
        """Begin with an answer, or go on with one; what goes wrong is told to who waits for the end."""
        ended = self._ended
        if ended is None or ended.done():
            return
        try:
            if frame is not None:
                self._begin_answer(frame)
            else:
                self._take_left()
        except Exception as error:
            ended.set_exception(error)

    def _begin_answer(self, frame: Frame) -> None:
        fetched = read_fetched(frame, self._version)
        if fetched is None:
            self._begin_any_answer(frame)
            return
        if len(frame) > YIELD_BYTES and len(fetched.partitions) > 1:
            fetched = read_fetched(memoryview(bytes(frame)), self._version)
            assert fetched is not None, "as before"
        self._on_answered()
        self._session.on_answer(ErrorCode.NONE, fetched.session_id)
        self._left, self._left_at = fetched.partitions, 0
        self._take_left()

    def _begin_any_answer(self, frame: Frame) -> None:
        """One with an error in it, or something else that comes rarely."""
        content = memoryview(bytes(frame) if len(frame) > YIELD_BYTES else frame)
        pipeline = self._pipeline
        assert pipeline is not None
        try:
            _, position = decode_response_header(ApiKey.FETCH, self._version, content)
            response = decode(FetchResponse, self._version, content[position:])
        except DecodeError as error:
            self._fail(Disconnected(f"{pipeline.peer}: {error}"))
            pipeline.drop(str(error))
            return
        code = self.judge(response)
        if code is not ErrorCode.NONE:
            self._session.begin_again()
            self._finish(code)
            return
        self._session.on_answer(code, response.session_id)
        self._left = [(topic.topic_id, data) for topic in response.responses for data in topic.partitions]
        self._left_at = 0
        self._take_left()

    def judge(self, response: FetchResponse) -> ErrorCode:
        """What the leader says to the request as a whole; what has to be told of it is told."""
        code = ErrorCode(response.error_code)
        if code is not ErrorCode.NONE and code not in SESSION_ERRORS:
            node_id = self._broker.config.node_id
            logger.warning("leader refuses broker=%d leader=%d error=%s", node_id, self._leader, code.name)
        else:
            self._on_answered()
        return code

    def _on_answered(self) -> None:
        self.was_answered = True
        if self.is_silent:
            self.is_silent = False
            logger.info("leader answers again broker=%d leader=%d", self._broker.config.node_id, self._leader)

    def _take_left(self) -> None:
        """Give each partition its part of the answer, then ask again."""
        copied, left = 0, self._left
        while self._left_at < len(left):
            if copied >= YIELD_BYTES:
                asyncio.get_running_loop().call_soon(self._go_on)
                return
            each = left[self._left_at]
            self._left_at += 1
            if isinstance(each, PartitionFetched):
                copied += self._take_usual(each)
            else:
                copied += self.take(*each, self._session.questions, self._in_session)
        self._left = ()
        self._ask_next()

    def _take_usual(self, fetched: PartitionFetched) -> int:
        key = (uuid_of(fetched.topic), int(fetched.index))
        followed, question = self._in_session.get(key), self._session.questions.get(key)
        if followed is None or question is None or followed.is_over:
            return 0
        batches = checked(fetched.records)
        answer = Answer(
            ErrorCode.NONE,
            fetched.high_watermark,
            fetched.log_start_offset,
            NO_EPOCH,
            NO_OFFSET,
            batches.headers,
            batches.unreadable,
        )
        size = self._copying.take(followed, question, answer, batches)
        self._throttling.took(followed, size, fetched.high_watermark)
        return size

    def take(
        self,
        topic_id: UUID,
        data: PartitionData,
        asked: Mapping[ReplicaKey, FetchFrom],
        asked_for: Mapping[ReplicaKey, Followed],
    ) -> int:
        """Give a partition its part of an answer, unless it is followed differently by now."""
        key = (topic_id, data.partition_index)
        followed, question = asked_for.get(key), asked.get(key)
        if followed is None or question is None or followed.is_over:
            return 0
        batches = checked(data.records)
        answer = answer_of(data, batches)
        size = self._copying.take(followed, question, answer, batches, may_have_gaps=data.may_have_gaps)
        self._throttling.took(followed, size, data.high_watermark)
        return size

    def _ask_next(self) -> None:
        pipeline = self._pipeline
        assert pipeline is not None
        is_elsewhere = self._broker.image.node(self._leader) is not self._registered
        if is_elsewhere or pipeline.retires(self._world.monotonic_ms()) or not self.take_in():
            self._finish(ErrorCode.NONE)
        else:
            self._send(pipeline)

    # ---- the end ----

    def _finish(self, code: ErrorCode) -> None:
        self.is_asking = False
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(code)

    def _fail(self, error: ClientError) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_exception(error)

    def _arm(self, wait_ms: int) -> None:
        """One timer for all requests: it looks whether the newest one is late."""
        self._timer = asyncio.get_running_loop().call_later(max(1, wait_ms) / 1000, self._look_at_clock)

    def _look_at_clock(self) -> None:
        self._timer = None
        pipeline, left_ms = self._pipeline, self._deadline_ms - self._world.monotonic_ms()
        if self._ended is None or self._ended.done() or pipeline is None:
            return
        if self._is_waiting and left_ms <= 0:
            self._fail(RequestTimedOut(f"{pipeline.peer}: no answer in time"))
            pipeline.drop("no answer in time")
        else:
            self._arm(left_ms if self._is_waiting else self._broker.config.replica_socket_timeout_ms)

    # ---- who turns up meanwhile ----

    def take_late(self) -> dict[ReplicaKey, FetchFrom]:
        """Who is not in the session while it is being asked, and has something to ask; until `late_is_over` the session leaves them out."""
        asked = {}
        for key in self._changed:
            followed = self._followed.get(key)
            if followed is None or self._in_session.get(key) is followed:
                continue
            question = self._throttling.question(followed)
            self._flushing.look_at(key, followed, question)
            if question is not None:
                asked[key] = question
                self._late[key] = followed
        return asked

    @property
    def late(self) -> Mapping[ReplicaKey, Followed]:
        return self._late

    def late_is_over(self, asked: Mapping[ReplicaKey, FetchFrom]) -> None:
        """They join the session with its next request."""
        self._late.clear()
        self._changed.update(dict.fromkeys(asked))
        self.wake.set()
