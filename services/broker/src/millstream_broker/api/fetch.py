"""Fetch (API key 1), versions 4 to 18: consumers read from the leader or a follower (KIP-392), followers copy from the leader.

It has sessions (KIP-227) and topic ids. A fetch that finds too little waits until appends bring enough, something else happens, or its time is over. Whole batches
go out as slices of files. A reader whose last record is of an epoch that ended before its offset is told where (KIP-595).
"""

from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any, TypeAlias
from uuid import UUID

from millstream_broker.core.reads.asked import asked_of
from millstream_broker.core.reads.bounds import READ_COMMITTED, Bound, bound_of, is_follower
from millstream_broker.core.reads.fetch_session import FetchContext, FetchKey, FetchKind, FetchPartition, FetchSession
from millstream_broker.core.reads.purgatory import Waiting
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.cold_reads import once_loaded
from millstream_broker.shell.copies import closest, not_here_yet
from millstream_broker.shell.delays import Resume
from millstream_broker.shell.leaders import endpoints, leader_elsewhere
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition_reads import PartitionRead, diverging, is_news, note_told, release
from millstream_broker.shell.replication.followers import admitted, note
from millstream_cluster.ids import NO_NODE
from millstream_log import AbortedTransaction as Aborted
from millstream_log import ColdRead, LogError, Read, StorageError
from millstream_runtime.serving.awaited import awaited
from millstream_runtime.serving.context import Deferred, RawReply, RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest, FetchResponse
from millstream_wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from millstream_wire.usual.fetch_request import FetchAsked, read_fetch
from millstream_wire.usual.fetch_response import COMPACT_SINCE, TAIL, TOPIC_IDS_SINCE, head_of_one

Answer: TypeAlias = FetchResponse | RawReply

COPIES_SINCE = 11
"""From here on consumers may say their rack, and read from followers."""
LEADER_HINTS_SINCE = 16
SESSION_ID_MAX = 2**31 - 1
_NOT_LOOKED_AT = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)


def answer_usual_fetch(
    broker: Broker, frame: bytes | memoryview, position: int, context: RequestContext
) -> Answer | Awaitable[Answer] | Deferred | None:
    """A `Shortcut`: serve the request that followers and most consumers send without making a message of it."""
    asked = read_fetch(frame, position, context.version)
    return None if asked is None else _fetch(broker, asked, context)


def handle_fetch(
    broker: Broker, request: FetchRequest, context: RequestContext
) -> Answer | Awaitable[Answer] | Deferred:
    return _fetch(broker, asked_of(request, context.version), context)


def _fetch(broker: Broker, asked: FetchAsked, context: RequestContext) -> Answer | Awaitable[Answer] | Deferred:
    session = broker.fetch_sessions.begin(
        asked,
        by_id=context.version >= TOPIC_IDS_SINCE,
        now_ms=broker.world.monotonic_ms(),
        new_id=lambda: broker.world.random.randint(1, SESSION_ID_MAX),
    )
    if isinstance(session, ErrorCode):
        return FetchResponse(error_code=session)
    fetch = _Fetch(broker, asked, context, session)
    reads = once_loaded(broker.world, fetch.read)
    return fetch.begin(reads) if isinstance(reads, list) else _answer_later(fetch, reads)


async def _answer_later(fetch: "_Fetch", reads: Coroutine[Any, Any, "list[PartitionRead]"]) -> Answer:
    answer = fetch.begin(await reads)
    if isinstance(answer, Deferred):
        later: Answer = await awaited(answer)
        return later
    return answer


class _Fetch(Deferred):
    """One request on its way: read, perhaps wait and read again, answer once."""

    __slots__ = (
        "_asked",
        "_bound",
        "_broker",
        "_context",
        "_deadline_ms",
        "_is_follower",
        "_is_noted",
        "_rack",
        "_reads_copies",
        "_reads_decided",
        "_replica_id",
        "_session",
        "_version",
        "_waiting",
        "is_complete",
        "size",
    )

    def __init__(self, broker: Broker, asked: FetchAsked, context: RequestContext, session: FetchContext) -> None:
        super().__init__()
        self._broker = broker
        self._asked = asked
        self._context = context
        self._version = context.version
        self._session = session
        self._replica_id = int(asked.replica_id)
        self._is_follower = is_follower(self._replica_id)
        self._is_noted = False
        """Whether the leader's standing knows of this fetch: it counts once, from when it arrived (KIP-501)."""
        self._reads_copies = not self._is_follower and context.version >= COPIES_SINCE
        self._rack = asked.rack_id if self._reads_copies and broker.config.selects_closest_replica else ""
        self._bound = bound_of(self._replica_id, asked.isolation_level)
        self._reads_decided = self._bound is Bound.LAST_STABLE_OFFSET
        self._deadline_ms = context.received_at_ms + int(asked.max_wait_ms)
        self._waiting: Waiting[Resume] | None = None
        """Where it waits, once it does."""
        self.size = 0
        self.is_complete = False

    @property
    def _is_throttled(self) -> bool:
        return self._broker.throttling.fetch.active and not self._is_follower

    # ---- reading ----

    def read(self, cold: list[ColdRead] | None) -> list[PartitionRead]:
        """Read what there is, within the limits; only the first batch of all may be larger than they are.

        Where a list is given, what would have to wait for the disk is noted there, and left out.
        """
        left = min(int(self._asked.max_bytes), self._broker.config.fetch_max_bytes)
        if self._is_throttled:
            left = min(left, self._broker.throttling.fetch_max_bytes(self._context) or left)
        self.size = 0
        self.is_complete = False
        reads, may = [], self._context.may_what
        for key, wanted in self._session.partitions.items():
            replica: HostedPartition | ErrorCode = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            if may is None or self._broker.may_read(key[0], self._context, as_replica=self._is_follower):
                replica = self._broker.locate(key[0], key[1], wanted.current_leader_epoch, or_copy=self._reads_copies)
            if not isinstance(replica, ErrorCode) and self._is_follower:
                replica = admitted(self._broker, replica, wanted, self._asked, self._context)
            if isinstance(replica, ErrorCode):
                self.is_complete = True
                reads.append(PartitionRead(key, wanted, replica, None, None))
                continue
            unread = self._unread(key, wanted, replica)
            if unread is not None:
                self.is_complete = True
                reads.append(unread)
                continue
            if self._is_follower and not self._is_noted:
                note(self._broker, replica, wanted, self._asked, self._context)
            if self._is_follower and self._broker.leader_throttling.holds(replica, wanted, self._replica_id):
                reads.append(PartitionRead(key, wanted, ErrorCode.NONE, replica, None))
                continue
            each = self._read_partition(key, replica, wanted, left, cold)
            if each.read is not None:
                size = len(each.read.slice)
                self.size += size
                left -= size
            reads.append(each)
        self._is_noted = True
        if self.size >= self._asked.min_bytes:
            self.is_complete = True
        return reads

    def _unread(self, key: FetchKey, wanted: FetchPartition, replica: HostedPartition) -> PartitionRead | None:
        """What there is to say instead of reading, if anything."""
        offset = wanted.fetch_offset
        if not replica.partition.leads:
            code = not_here_yet(replica, offset)
            if code is not ErrorCode.NONE:
                return PartitionRead(key, wanted, code, replica, None)
            if offset > replica.partition.high_watermark:
                return None  # what a copy has there may yet be cut: it says nothing about the reader's log
        elif self._rack:
            listener_name = self._context.listener_name
            preferred = closest(self._broker, replica, offset, rack=self._rack, listener_name=listener_name)
            if preferred != NO_NODE:
                return PartitionRead(key, wanted, ErrorCode.NONE, replica, None, preferred=preferred)
        return diverging(key, wanted, replica) if wanted.last_fetched_epoch >= 0 else None

    def _read_partition(
        self, key: FetchKey, replica: HostedPartition, wanted: FetchPartition, left: int, cold: list[ColdRead] | None
    ) -> PartitionRead:
        end = replica.end_for(self._bound)
        limit = min(wanted.max_bytes, left)
        min_one = self.size == 0
        found: Read | None = None
        aborted: Sequence[Aborted] = ()
        try:
            found = replica.log.read(
                wanted.fetch_offset, max(0, limit), min_one=min_one, end_offset=end, may_wait=cold is None
            )
            if found is not None and self._reads_decided:
                aborted = replica.log.aborted_transactions(wanted.fetch_offset, found.next_offset)
        except ColdRead as missing:
            assert cold is not None
            cold.append(missing)
            return PartitionRead(key, wanted, ErrorCode.NONE, replica, None)
        except LogError as error:
            if found is not None:
                found.slice.release()
            self.is_complete = True
            if isinstance(error, StorageError):
                self._broker.read_failed(replica, error)
            return PartitionRead(key, wanted, ErrorCode(error.error_code), replica, None)
        if found is not None and found.next_offset < end:
            self.is_complete = True  # there is more behind this segment or limit: waiting would bring nothing
        return PartitionRead(key, wanted, ErrorCode.NONE, replica, found, aborted)

    # ---- waiting ----

    def begin(self, reads: list[PartitionRead]) -> "Answer | _Fetch":
        """The answer, or this, if there is none yet."""
        if self.is_complete or self._asked.max_wait_ms <= 0 or not reads:
            return self.respond(reads)
        self._wait(reads)
        return self

    def on_cancelled(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._broker.delays.cancel(waiting)

    def _wait(self, reads: list[PartitionRead]) -> None:
        """Answer once there is enough in the partitions or the client's patience is over."""
        release(reads)
        wait_ms = self._deadline_ms - self._broker.world.monotonic_ms()
        if self._is_follower:
            wait_ms = min(wait_ms, self._broker.leader_throttling.wait_ms(reads, self._replica_id))
        places = {each.replica.place(self._bound): each.wanted.fetch_offset for each in reads if each.replica}
        missing = int(self._asked.min_bytes) - self.size
        self._waiting = self._broker.delays.wait(self._resume, places, missing=missing, wait_ms=max(0, wait_ms))

    def _resume(self, is_final: bool) -> None:
        if self.is_over:
            return  # the client is gone
        self._waiting = None  # it holds this
        try:
            reads = self.read(None)  # what was just appended is in memory
            answer = None
            if is_final or self.is_complete:
                answer = self.respond(reads)
            else:
                self._wait(reads)
        except Exception as error:
            self.fail(error)
            return
        if answer is not None:
            self.answer(answer)

    # ---- answering ----

    def respond(self, reads: list[PartitionRead]) -> FetchResponse | RawReply:
        session = self._session.session
        if session is not None and session.epoch != self._session.epoch:
            # Another connection went on with the session while this fetch waited.
            release(reads)
            return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if self._is_follower:
            self._broker.leader_throttling.sent(reads, self._replica_id)
        told = reads if session is None else self._news(session, reads)
        self._broker.metrics.fetched_bytes += self.size
        if len(told) == 1 and not self._broker.throttling.changes_answers:
            usual = self._usual_answer(told[0])
            if usual is not None:
                return usual
        topics: dict[str | UUID, FetchableTopicResponse] = {}
        leaders: list[int] = []
        for each in told:
            self._topic(topics, each.key).partitions.append(self._partition_data(each, leaders))
        response = FetchResponse(session_id=self._session.session_id, responses=list(topics.values()))
        if leaders:
            response.node_endpoints = self._endpoints(leaders)
        if self._is_throttled:
            sent = ((each.replica, len(each.read.slice)) for each in reads if each.replica and each.read)
            response.throttle_time_ms = self._broker.throttling.fetched(sent, self._context)
        return response

    def _news(self, session: FetchSession, reads: list[PartitionRead]) -> list[PartitionRead]:
        """What is told: in an incremental answer only news. What was told is noted."""
        incremental = self._session.kind is FetchKind.INCREMENTAL
        told = []
        for each in reads:
            news = is_news(each)
            note_told(each)
            if news or not incremental:
                told.append(each)
                if each.read is not None:
                    session.served(each.key)
        return told

    def _usual_answer(self, each: PartitionRead) -> RawReply | None:
        """One partition with nothing special about it is told without making messages."""
        replica, found = each.replica, each.read
        if replica is None or each.code is not ErrorCode.NONE or each.diverging is not None or each.preferred >= 0:
            return None
        says_aborted = self._asked.isolation_level == READ_COMMITTED
        if each.aborted or (self._is_follower and replica.log.has_gaps):
            return None
        topic = each.key[0]
        head = head_of_one(
            self._version,
            self._session.session_id,
            topic if isinstance(topic, str) else topic.bytes,
            each.wanted.index,
            high_watermark=replica.partition.high_watermark,
            last_stable_offset=replica.last_stable_offset,
            log_start_offset=replica.log.log_start_offset,
            says_aborted=says_aborted,
            size=0 if found is None else len(found.slice),
        )
        tail = TAIL if self._version >= COMPACT_SINCE else b""
        return RawReply([head + tail] if found is None else [head, found.slice, tail])

    def _topic(self, topics: dict[str | UUID, FetchableTopicResponse], key: FetchKey) -> FetchableTopicResponse:
        topic = topics.get(key[0])
        if topic is None:
            name = key[0]
            topic = (
                FetchableTopicResponse(topic=name) if isinstance(name, str) else FetchableTopicResponse(topic_id=name)
            )
            topics[name] = topic
        return topic

    def _partition_data(self, each: PartitionRead, leaders: list[int]) -> PartitionData:
        if each.code is not ErrorCode.NONE or each.replica is None:
            data = PartitionData(
                partition_index=each.wanted.index,
                error_code=each.code,
                high_watermark=-1,
                aborted_transactions=[] if each.code in _NOT_LOOKED_AT else None,
                records=b"",
            )
            if self._is_follower and each.code is ErrorCode.OFFSET_OUT_OF_RANGE and each.replica is not None:
                data.log_start_offset = each.replica.log.log_start_offset  # it begins anew there, and need not ask
            self._add_leader_hint(each, data, leaders)
            return data
        says_aborted = self._asked.isolation_level == READ_COMMITTED
        aborted: list[AbortedTransaction] | None = [] if says_aborted and each.diverging is None else None
        if aborted is not None:
            aborted += (
                AbortedTransaction(producer_id=txn.producer_id, first_offset=txn.first_offset) for txn in each.aborted
            )
        data = PartitionData(
            partition_index=each.wanted.index,
            high_watermark=each.replica.partition.high_watermark,
            last_stable_offset=each.replica.last_stable_offset,
            log_start_offset=each.replica.log.log_start_offset,
            aborted_transactions=aborted,
            preferred_read_replica=each.preferred,
            records=each.read.slice if each.read is not None else b"",
            may_have_gaps=self._is_follower and each.replica.log.has_gaps,
        )
        if each.diverging is not None:
            data.diverging_epoch = EpochEndOffset(epoch=each.diverging.epoch, end_offset=each.diverging.end_offset)
        return data

    def _add_leader_hint(self, each: PartitionRead, data: PartitionData, leaders: list[int]) -> None:
        if self._version < LEADER_HINTS_SINCE:
            return
        partition = leader_elsewhere(self._broker.image, each.key[0], each.key[1], each.code)
        if partition is not None:
            data.current_leader = LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)
            leaders.append(partition.leader)

    def _endpoints(self, leaders: list[int]) -> list[NodeEndpoint]:
        return [
            NodeEndpoint(node_id=node_id, host=endpoint.host, port=endpoint.port, rack=rack)
            for node_id, endpoint, rack in endpoints(self._broker.image, leaders, self._context.listener_name)
        ]
