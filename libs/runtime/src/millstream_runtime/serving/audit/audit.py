"""Says who was refused and who changed what: one line each, by a logger of its own for each kind.

Bounded whatever anybody does (`restraint.py`). What was changed has an allowance of its own, and each change is said: whoever
causes a thousand refusals does not hide by them what he changed, nor in which order.
"""

import asyncio
import logging
from dataclasses import replace

from millstream_runtime.serving.audit.event import AuditEvent, AuditKind
from millstream_runtime.serving.audit.restraint import Restraint
from millstream_runtime.world import World

PER_SOURCE = 10
IN_ALL = 100
CHANGES_IN_ALL = 1_000

_LOGGERS = {kind: logging.getLogger(f"millstream.audit.{kind.value}") for kind in AuditKind}


class Audit:
    """Of one service."""

    def __init__(self, world: World, node: str) -> None:
        self._world = world
        self._node = node
        self._changes = Restraint[AuditEvent](CHANGES_IN_ALL, CHANGES_IN_ALL, folds_max=0)
        self._others = Restraint[AuditEvent](PER_SOURCE, IN_ALL)
        self._timer: asyncio.TimerHandle | None = None

    def note(self, event: AuditEvent) -> None:
        now_s = self._world.monotonic_s()
        self._say_repeated(now_s)
        restraint = self._changes if event.is_kept else self._others
        left_out = restraint.note(event, (event.principal, event.host), now_s)
        if left_out is None:
            return
        self._say(_with(event, "left_out", left_out) if left_out else event)
        self._arrange(now_s)

    def close(self) -> None:
        """Say what is still to be said."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._say_repeated(float("inf"))

    def _say(self, event: AuditEvent) -> None:
        _LOGGERS[event.kind].info("%s", event.line)
        self._world.audit_records.put(event, self._node, self._world.now_ms())

    def _say_repeated(self, now_s: float) -> None:
        for event, repeated in self._others.due(now_s):
            self._say(_with(event, "repeated", repeated))

    def _arrange(self, now_s: float) -> None:
        """Repetitions are said when their minute is over, whether anything else happens or not."""
        due_s = self._others.next_due_s
        if due_s is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(max(0.0, due_s - now_s), self._on_due)

    def _on_due(self) -> None:
        self._timer = None
        now_s = self._world.monotonic_s()
        self._say_repeated(now_s)
        self._arrange(now_s)


def _with(event: AuditEvent, name: str, count: int) -> AuditEvent:
    return replace(event, fields=(*event.fields, (name, str(count))))
