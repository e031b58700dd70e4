"""What a node knows of its session at the controller: whether somebody can have been put in its place without its knowledge.

The controller lets a session run for its timeout from the last heartbeat that reached it, so for the same time from when that
heartbeat was *sent* nobody can have been given what is this node's. After that the node can only ask those who would know.
"""

from collections.abc import Callable


class Session:
    """Written by `Registration`. Invariant: `number` grows with each session that ended."""

    def __init__(self, monotonic_ms: Callable[[], int], timeout_ms: int) -> None:
        self.number = 0
        """Of the session, counted from 0: what was begun in one is not to be finished in another."""
        self._monotonic_ms = monotonic_ms
        self._timeout_ms = timeout_ms
        self._certain_until_ms: int | None = None
        """None: there is no session."""

    @property
    def is_certain(self) -> bool:
        """Whether nobody can be in this node's place. It asks the clock: a process that was stopped for long is not sure."""
        return self._certain_until_ms is not None and self._monotonic_ms() < self._certain_until_ms

    def renewed(self, sent_ms: int) -> None:
        """A heartbeat that was sent then was answered, and we are not fenced."""
        self._certain_until_ms = sent_ms + self._timeout_ms

    def ended(self) -> None:
        self.number += 1
        self._certain_until_ms = None
