"""Incremental fetch sessions (KIP-227): what a client asked for last time and was last told, so that it need not repeat it.

Decides which partitions a Fetch is about and which of the answers are news. Reads no log and keeps no connection.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple, TypeAlias
from uuid import UUID

from millstream_broker.core.partition.standing import NO_EPOCH
from millstream_wire.errors import ErrorCode
from millstream_wire.usual.fetch_request import FetchAsked, PartitionAsked

NO_SESSION_ID = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_EPOCH_MAX = 2**31 - 1

FetchKey: TypeAlias = tuple[str | UUID, int]
"""A partition by the topic's id where the request has ids, by its name where it has names."""


class FetchPartition:
    """What a client wants of one partition, and what it was last told about it."""

    __slots__ = (
        "cannot_append",
        "current_leader_epoch",
        "fetch_offset",
        "index",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "sent_high_watermark",
        "sent_log_start_offset",
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.fetch_offset = 0
        self.current_leader_epoch = -1
        self.last_fetched_epoch = -1
        self.log_start_offset = -1
        self.cannot_append = False
        self.max_bytes = 0
        self.sent_high_watermark = -1
        self.sent_log_start_offset = -1

    def is_news(self, high_watermark: int, log_start_offset: int) -> bool:
        """Whether the client knows other offsets, or none because an error came last."""
        return high_watermark != self.sent_high_watermark or log_start_offset != self.sent_log_start_offset

    def told(self, high_watermark: int, log_start_offset: int) -> None:
        self.sent_high_watermark = high_watermark
        self.sent_log_start_offset = log_start_offset

    def told_error(self) -> None:
        """Whatever comes after an error is news again."""
        self.sent_high_watermark = -1


class FetchSession:
    """`partitions` is in the order in which they are served; whoever got records goes to the end."""

    __slots__ = ("created_ms", "epoch", "last_used_ms", "partitions", "privileged", "session_id", "uses_topic_ids")

    def __init__(
        self,
        session_id: int,
        partitions: dict[FetchKey, FetchPartition],
        *,
        uses_topic_ids: bool,
        privileged: bool,
        now_ms: int,
    ) -> None:
        self.session_id = session_id
        self.epoch = 1
        self.partitions = partitions
        self.uses_topic_ids = uses_topic_ids
        self.privileged = privileged
        self.created_ms = now_ms
        self.last_used_ms = now_ms

    def served(self, key: FetchKey) -> None:
        """Let the others come first next time, or a busy partition would starve them."""
        if len(self.partitions) > 1:
            self.partitions[key] = self.partitions.pop(key)


class FetchKind(Enum):
    SESSIONLESS = "sessionless"
    FULL = "full"
    INCREMENTAL = "incremental"


class FetchContext(NamedTuple):
    """One Fetch: its partitions in order, and the session (if any) that it goes on with."""

    kind: FetchKind
    partitions: dict[FetchKey, FetchPartition]
    session: FetchSession | None
    epoch: int

    @property
    def session_id(self) -> int:
        return self.session.session_id if self.session is not None else NO_SESSION_ID


class FetchSessions:
    """At most `slots` sessions; a new one takes the place of one that is idle for long or less important."""

    __slots__ = ("_eviction_ms", "_sessions", "_slots")

    def __init__(self, *, slots: int, eviction_ms: int) -> None:
        self._slots = slots
        self._eviction_ms = eviction_ms
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(
        self, asked: FetchAsked, *, by_id: bool, now_ms: int, new_id: Callable[[], int]
    ) -> FetchContext | ErrorCode:
        """Say what this request is about; `new_id` draws a random session id from 1 on. `by_id`: it names topics by their ids."""
        if asked.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._sessions.pop(int(asked.session_id), None)
            partitions = _wanted(asked)
            if asked.session_epoch == FINAL_EPOCH:
                return FetchContext(FetchKind.SESSIONLESS, partitions, None, FINAL_EPOCH)
            session = self._create(
                partitions, by_id=by_id, privileged=asked.replica_id >= 0, now_ms=now_ms, new_id=new_id
            )
            kind = FetchKind.FULL if session is not None else FetchKind.SESSIONLESS
            return FetchContext(kind, partitions, session, 1)
        return self._continue(asked, by_id=by_id, now_ms=now_ms)

    def _continue(self, asked: FetchAsked, *, by_id: bool, now_ms: int) -> FetchContext | ErrorCode:
        session = self._sessions.get(int(asked.session_id))
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != asked.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != by_id:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        _update(session.partitions, asked.partitions)
        for key in asked.forgotten:
            session.partitions.pop(key, None)
        if not session.partitions:
            del self._sessions[session.session_id]
            return FetchContext(FetchKind.SESSIONLESS, _wanted(asked), None, FINAL_EPOCH)
        session.last_used_ms = now_ms
        session.epoch = next_epoch(session.epoch)
        return FetchContext(FetchKind.INCREMENTAL, session.partitions, session, session.epoch)

    def _create(
        self,
        partitions: dict[FetchKey, FetchPartition],
        *,
        by_id: bool,
        privileged: bool,
        now_ms: int,
        new_id: Callable[[], int],
    ) -> FetchSession | None:
        if not self._make_room(privileged, len(partitions), now_ms):
            return None
        session_id = new_id()
        while session_id in self._sessions or session_id == NO_SESSION_ID:
            session_id = new_id()
        session = FetchSession(session_id, partitions, uses_topic_ids=by_id, privileged=privileged, now_ms=now_ms)
        self._sessions[session_id] = session
        return session

    def _make_room(self, privileged: bool, size: int, now_ms: int) -> bool:
        if len(self._sessions) < self._slots:
            return True
        if not self._sessions:
            return False
        idle = min(self._sessions.values(), key=lambda session: session.last_used_ms)
        if now_ms - idle.last_used_ms > self._eviction_ms:
            del self._sessions[idle.session_id]
            return True
        # Replicas before clients, then many partitions before few; and nobody before having had a fair time.
        victim = min(self._sessions.values(), key=_importance)
        settled = now_ms - victim.created_ms > self._eviction_ms
        if (settled or (privileged and not victim.privileged)) and (privileged, size) > _importance(victim)[:2]:
            del self._sessions[victim.session_id]
            return True
        return False


def next_epoch(epoch: int) -> int:
    return 1 if epoch == _EPOCH_MAX else epoch + 1


def _importance(session: FetchSession) -> tuple[bool, int, int]:
    return session.privileged, len(session.partitions), session.last_used_ms


def _wanted(asked: FetchAsked) -> dict[FetchKey, FetchPartition]:
    partitions: dict[FetchKey, FetchPartition] = {}
    _update(partitions, asked.partitions)
    return partitions


def _update(partitions: dict[FetchKey, FetchPartition], asked: Iterable[PartitionAsked]) -> None:
    for each in asked:
        key = (each.topic, int(each.index))
        partition = partitions.get(key)
        if partition is None:
            partition = partitions[key] = FetchPartition(key[1])
        partition.fetch_offset = each.fetch_offset
        partition.current_leader_epoch = max(int(each.current_leader_epoch), NO_EPOCH)
        partition.last_fetched_epoch = each.last_fetched_epoch
        partition.log_start_offset = each.log_start_offset
        partition.cannot_append = each.cannot_append
        partition.max_bytes = each.max_bytes
