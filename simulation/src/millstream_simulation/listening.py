"""Hears what the processes of a run log: situations that they say they are in, and tracebacks."""

import logging
from collections.abc import Callable

from millstream_runtime.simulated.loop import virtual_loop
from millstream_simulation.situations import LOGGED
from millstream_simulation.story import Story


class Listening(logging.Handler):
    """A logged traceback in any process is a bug that the process survived: the run fails all the same.

    Whoever has the story told also hears what the processes log; that is no part of the story and its digest.
    """

    def __init__(
        self,
        story: Story,
        fail: Callable[[str], None],
        now_s: Callable[[], float],
        tell: Callable[[str], None] | None,
        hear: Callable[[object, logging.LogRecord], None],
    ) -> None:
        """`hear` is told each line, and whose it is."""
        super().__init__(logging.INFO)
        self._story = story
        self._fail = fail
        self._now_s = now_s
        self._tell = tell
        self._hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        situation = LOGGED.get(_event(str(record.msg)))
        if situation is not None:
            self._story.note(situation)
        self._hear(virtual_loop().owner.get(), record)
        if self._tell is not None:
            self._tell(f"{self._now_s():.6f}     {record.levelname} {record.getMessage()}")
        if record.exc_info:
            self._fail(f"{record.getMessage()}: {record.exc_info[1]!r}")

    def __enter__(self) -> None:
        logger = logging.getLogger()
        self._level_before = logger.level
        logger.setLevel(self.level)
        logger.addHandler(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)
        logging.getLogger().setLevel(self._level_before)


def _event(message: str) -> str:
    """`event name key=%s ...` without its fields."""
    head, separator, _ = message.partition("=")
    return head.rpartition(" ")[0] if separator else head
