"""Lines about what anybody can cause, as many as a person reads: the rest is counted, and said with the next."""

import logging
from collections.abc import Callable

LINES_MAX = 10
WINDOW_S = 1.0


class BoundedLog:
    def __init__(self, logger: logging.Logger, monotonic_s: Callable[[], float]) -> None:
        self._logger = logger
        self._monotonic_s = monotonic_s
        self._since_s = -WINDOW_S
        self._lines = 0
        self._left_out = 0

    def info(self, message: str, *values: object) -> None:
        now_s = self._monotonic_s()
        if now_s - self._since_s >= WINDOW_S:
            self._since_s, self._lines = now_s, 0
        self._lines += 1
        if self._lines > LINES_MAX:
            self._left_out += 1
            return
        if self._left_out:
            message, values = f"{message} left_out=%d", (*values, self._left_out)
            self._left_out = 0
        self._logger.info(message, *values)
