"""What a shard's consumer groups know only in memory: until when each member may be silent, or may take to give up
partitions. A new owner of the shard gives everyone the whole time again.
"""

import heapq
from typing import Protocol

from millstream_wire.late_dataclass import dataclass

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

    def due(self, now_ms: int, most: int) -> list[MemberKey]:
        """Members whose time is over, those first who were due first; at most so many."""
        open_entries, found = [0], list[tuple[int, MemberKey]]()
        while open_entries:
            index = open_entries.pop()
            if index >= len(self._queue) or self._queue[index][0] > now_ms:
                continue  # whatever is below it in the heap is later still
            queued_ms, member = self._queue[index]
            deadline_ms = self._deadline_of(member)
            if deadline_ms is not None and deadline_ms <= now_ms:
                found.append((queued_ms, member))
            open_entries += (2 * index + 1, 2 * index + 2)
        return [member for _, member in sorted(found)[:most]]

    def looked_at(self, now_ms: int) -> None:
        """Members in the queue whose time was put off since wait there for their new time."""
        looked_at = []
        while self._queue and self._queue[0][0] <= now_ms:
            _, member = heapq.heappop(self._queue)
            del self._queued[member]
            looked_at.append(member)
        for member in looked_at:
            deadline_ms = self._deadline_of(member)
            if deadline_ms is not None:
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


class KeepsSessions(Protocol):
    """A machine with members whose sessions run."""

    @property
    def sessions(self) -> Sessions: ...


@dataclass(frozen=True, slots=True)
class MemberHeard:
    """Change: the member has until then to be heard of again."""

    member: MemberKey
    until_ms: int

    def make(self, machine: KeepsSessions) -> None:
        machine.sessions.hear_from(self.member, self.until_ms)


@dataclass(frozen=True, slots=True)
class RevocationAwaited:
    """Change: the member was asked to give up partitions and has until then, unless it was asked before."""

    member: MemberKey
    until_ms: int

    def make(self, machine: KeepsSessions) -> None:
        machine.sessions.await_revocation(self.member, self.until_ms)


@dataclass(frozen=True, slots=True)
class RevocationEnded:
    """Change: nobody waits for the member to give anything up any more."""

    member: MemberKey

    def make(self, machine: KeepsSessions) -> None:
        machine.sessions.revoked(self.member)


@dataclass(frozen=True, slots=True)
class MemberForgotten:
    """Change: the member is gone."""

    member: MemberKey

    def make(self, machine: KeepsSessions) -> None:
        machine.sessions.forget(self.member)


@dataclass(frozen=True, slots=True)
class GroupForgotten:
    """Change: the group has ended, or its members' sessions are kept elsewhere from now on."""

    group_id: str

    def make(self, machine: KeepsSessions) -> None:
        machine.sessions.forget_group(self.group_id)


@dataclass(frozen=True, slots=True)
class MetadataSeen:
    """Change: the group's topics were looked up in this metadata; None: they are to be looked up again."""

    group_id: str
    offset: int | None

    def make(self, machine: KeepsSessions) -> None:
        if self.offset is None:
            machine.sessions.metadata_offsets.pop(self.group_id, None)
        else:
            machine.sessions.metadata_offsets[self.group_id] = self.offset


@dataclass(frozen=True, slots=True)
class SilenceNoticed:
    """Change: it was looked who had been silent for too long, and these are gone."""

    now_ms: int
    gone: tuple[MemberKey, ...]

    def make(self, machine: KeepsSessions) -> None:
        for member in self.gone:
            machine.sessions.forget(member)
        machine.sessions.looked_at(self.now_ms)
