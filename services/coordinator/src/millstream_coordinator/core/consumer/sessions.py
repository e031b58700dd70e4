"""What a shard's consumer groups know only in memory: until when each member may be silent, or may take to give up
partitions. A new owner of the shard gives everyone the whole time again.
"""

import heapq
from collections.abc import Iterator

MemberKey = tuple[str, str]
"""Group id and member id."""


class Sessions:
    """Invariant (`check`): each deadline has an entry in the queue at or before its time."""

    def __init__(self) -> None:
        self._sessions: dict[MemberKey, int] = {}
        self._revocations: dict[MemberKey, int] = {}
        self._queue: list[tuple[int, MemberKey]] = []
        self._queued: dict[MemberKey, int] = {}
        self.metadata_offsets: dict[str, int] = {}
        """By group: the cluster's metadata that its topics were last looked up in."""

    def deadline(self) -> int | None:
        """When to look for members that are gone; it may be too early for any."""
        return self._queue[0][0] if self._queue else None

    def hear_from(self, member: MemberKey, until_ms: int) -> None:
        self._sessions[member] = until_ms
        self._enqueue(member, until_ms)

    def await_revocation(self, member: MemberKey, until_ms: int) -> None:
        """The member has until then from the first time on that it was asked."""
        self._enqueue(member, self._revocations.setdefault(member, until_ms))

    def revoked(self, member: MemberKey) -> None:
        self._revocations.pop(member, None)

    def forget(self, member: MemberKey) -> None:
        self._sessions.pop(member, None)
        self._revocations.pop(member, None)

    def forget_group(self, group_id: str) -> None:
        self.metadata_offsets.pop(group_id, None)
        for member in [member for member in self._sessions if member[0] == group_id]:
            self.forget(member)

    def take_due(self, now_ms: int) -> Iterator[MemberKey]:
        """Members whose time is over; each is forgotten as it is returned."""
        while self._queue and self._queue[0][0] <= now_ms:
            _, member = heapq.heappop(self._queue)
            del self._queued[member]
            deadline_ms = self._deadline_of(member)
            if deadline_ms is None:
                continue
            if deadline_ms <= now_ms:
                self.forget(member)
                yield member
            else:
                self._enqueue(member, deadline_ms)

    def pause(self, elapsed_ms: int) -> None:
        """Time passed in which nobody could be heard: it does not count."""
        for deadlines in (self._sessions, self._revocations):
            for member in deadlines:
                deadlines[member] += elapsed_ms

    def _deadline_of(self, member: MemberKey) -> int | None:
        times = [times[member] for times in (self._sessions, self._revocations) if member in times]
        return min(times, default=None)

    def _enqueue(self, member: MemberKey, time_ms: int) -> None:
        queued_ms = self._queued.get(member)
        if queued_ms is None:
            heapq.heappush(self._queue, (time_ms, member))
            self._queued[member] = time_ms
        elif time_ms < queued_ms:
            # Seldom: a time to give up partitions that ends before the session would.
            self._queue.remove((queued_ms, member))
            self._queue.append((time_ms, member))
            heapq.heapify(self._queue)
            self._queued[member] = time_ms

    def check(self) -> None:
        assert sorted(self._queue) == sorted((time_ms, member) for member, time_ms in self._queued.items())
        for member in self._sessions.keys() | self._revocations.keys():
            deadline_ms = self._deadline_of(member)
            assert deadline_ms is not None
            assert self._queued[member] <= deadline_ms
