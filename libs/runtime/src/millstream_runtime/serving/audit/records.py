"""What the audit log said and no topic has yet: of all roles of one process, in order, bounded.

A request only puts into it. Whoever has connections to brokers takes out (`nodes/audit_topic.py`); where nobody will, nothing is kept.
"""

import asyncio
import json
from collections import deque
from typing import TYPE_CHECKING, Final

from millstream_runtime.serving.audit.event import AuditEvent

if TYPE_CHECKING:
    from millstream_wire.records import Record

WAITING_MAX: Final = 4_096


class AuditRecords:
    """Invariant: at most WAITING_MAX wait; each that found no room is counted, and said in the next that does."""

    def __init__(self) -> None:
        self.is_read = False
        """Whether somebody takes out what is put in."""
        self.dropped = 0
        """In all, since the process began."""
        self._untold = 0
        self._number = 0
        self._waiting: deque[Record] = deque()
        self._some = asyncio.Event()

    def put(self, event: AuditEvent, node: str, now_ms: int) -> None:
        if not self.is_read:
            return
        if len(self._waiting) >= WAITING_MAX:
            self.drop(1)
            return
        from millstream_wire.records import Record  # only now: every client has a world, and few of them an audit log

        self._number += 1
        told = {
            "time_ms": now_ms,
            "node": node,
            "number": self._number,
            "kind": event.kind.value,
            "event": event.what,
            "principal": event.principal,
            "host": event.host,
            **dict(event.fields),
        }
        if self._untold:
            told["dropped"], self._untold = self._untold, 0
        value = json.dumps(told, separators=(",", ":")).encode()
        self._waiting.append(Record(offset=0, timestamp=now_ms, key=node.encode(), value=value))
        self._some.set()

    def drop(self, count: int) -> None:
        """So many will never be in the topic."""
        self.dropped += count
        self._untold += count

    async def take(self, most: int) -> "list[Record]":
        """The oldest ones, at least one."""
        while not self._waiting:
            self._some.clear()
            await self._some.wait()
        return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
