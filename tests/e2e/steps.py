"""The steps of a scenario, each with its time."""

from __future__ import annotations

import time

import pytest


class Steps:
    """Prints each step of a scenario with its time, past pytest's capture."""

    def __init__(self, config: pytest.Config) -> None:
        self._capture = config.pluginmanager.getplugin("capturemanager")
        self._started = self._last = time.monotonic()

    def done(self, what: str) -> None:
        now = time.monotonic()
        with self._capture.global_and_fixture_disabled():
            print(f"\n  {now - self._started:6.1f} s  (+{now - self._last:5.1f})  {what}", end=" ", flush=True)
        self._last = now
