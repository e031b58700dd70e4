"""When a log refused appends, as on a full disk: whether that lasts, and for how long it speaks against this replica.

One refusal may pass: the producer tries again, and nobody else need lead for it. So a leader asks to be relieved when its log
refuses again a little later and has taken nothing in between; and not again before a pause, whatever became of it.
"""

from typing import Final

LASTING_MS: Final = 50
"""Producers wait at least about twice as long before they try again, and refusals of the same moment count as one."""
AGAIN_MS: Final = 5_000
"""Between two requests for the same partition."""
CALM_MS: Final = 1_000
"""A log that takes some batches and refuses others is not in and out of the ISR more often than this."""
REMEMBERED_MS: Final = 30_000
"""Who has had nothing to append since is believed to have room again after so long."""
NEVER: Final = -1


class Refusals:
    """Of one log, as leader and as follower: the disk is the same."""

    __slots__ = ("_asked_ms", "_first_ms", "_has_appended", "_last_ms")

    def __init__(self) -> None:
        self._first_ms = NEVER
        """The first one since an append succeeded."""
        self._last_ms = NEVER
        self._has_appended = True
        """Since the last one."""
        self._asked_ms = NEVER

    def on_refused(self, now_ms: int) -> None:
        if self._has_appended:
            self._first_ms = now_ms
        self._last_ms, self._has_appended = now_ms, False

    def on_appended(self) -> None:
        self._has_appended = True

    def on_asked(self, now_ms: int) -> None:
        """Somebody else was asked to lead."""
        self._asked_ms = now_ms

    def asks(self, now_ms: int, *, lasts: bool = False) -> bool:
        """Whether somebody else should lead, and it is time to say so. `lasts`: that is known from elsewhere."""
        lasts = lasts or (not self._has_appended and now_ms - self._first_ms >= LASTING_MS)
        return lasts and (self._asked_ms == NEVER or now_ms - self._asked_ms >= AGAIN_MS)

    def is_over(self, now_ms: int) -> bool:
        """Whether nothing speaks against counting on this log any more."""
        if self._last_ms == NEVER:
            return True
        return now_ms - self._last_ms >= (CALM_MS if self._has_appended else REMEMBERED_MS)
