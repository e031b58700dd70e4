"""Share sessions (KIP-932): which partitions a member of a share group fetches here, and how many requests it has sent.

A member has one session on a broker. It ends when the member says so, begins another, or its connection is gone; what the
member has of records is then for others. Decides nothing about records.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from millstream_broker.core.hosting import ReplicaKey
from millstream_wire.errors import ErrorCode

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_EPOCH_MAX = 2**31 - 1


class MemberKey(NamedTuple):
    group_id: str
    member_id: str


class ShareSession:
    """`epoch` is what the member's next request has to carry; `partitions` are in the order in which they are served.

    `touched` are those and the ones that it has given up: the member may still have records of them.
    """

    __slots__ = ("connection", "epoch", "key", "partitions", "touched")

    def __init__(self, key: MemberKey, partitions: Iterable[ReplicaKey], connection: int) -> None:
        self.key = key
        self.epoch = 1
        self.partitions: dict[ReplicaKey, None] = {}
        self.touched: set[ReplicaKey] = set()
        self.connection = connection
        self.change(partitions, ())

    def change(self, added: Iterable[ReplicaKey], removed: Iterable[ReplicaKey]) -> None:
        for partition in added:
            self.partitions[partition] = None
            self.touched.add(partition)
        for partition in removed:
            self.partitions.pop(partition, None)

    def served(self, partition: ReplicaKey) -> None:
        """Let the others come first next time, or a busy partition would starve them."""
        if partition in self.partitions:
            del self.partitions[partition]
            self.partitions[partition] = None


Opened: TypeAlias = tuple[ShareSession, ShareSession | None]
"""A session and the one whose place it takes."""


class ShareSessions:
    """At most `sessions_max` sessions."""

    __slots__ = ("_sessions", "_sessions_max")

    def __init__(self, *, sessions_max: int) -> None:
        self._sessions_max = sessions_max
        self._sessions: dict[MemberKey, ShareSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[ShareSession]:
        return iter(self._sessions.values())

    def open(self, key: MemberKey, partitions: Iterable[ReplicaKey], connection: int) -> Opened | ErrorCode:
        before = self._sessions.pop(key, None)
        if len(self._sessions) >= self._sessions_max:
            if before is not None:
                self._sessions[key] = before
            return ErrorCode.SHARE_SESSION_LIMIT_REACHED
        session = self._sessions[key] = ShareSession(key, partitions, connection)
        return session, before

    def go_on(self, key: MemberKey, epoch: int) -> ShareSession | ErrorCode:
        """The session that a request with this epoch goes on with, or is the last of."""
        session = self._sessions.get(key)
        if session is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        if epoch == FINAL_EPOCH:
            return session
        if epoch != session.epoch:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        return session

    def is_open(self, session: ShareSession) -> bool:
        return self._sessions.get(session.key) is session

    def close(self, session: ShareSession) -> None:
        """End it, unless another has taken its place."""
        if self.is_open(session):
            del self._sessions[session.key]

    def of_connection(self, connection: int) -> list[ShareSession]:
        return [session for session in self._sessions.values() if session.connection == connection]
