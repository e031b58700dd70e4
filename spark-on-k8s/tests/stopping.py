"""Tells this process to stop as Kubernetes tells a pod, once a job has come to where it is to be told."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def sigterm_when(condition: Callable[[], bool]) -> Iterator[None]:
    """Send this process SIGTERM when the condition holds; a job that does not hear it fails."""

    def unheard(*_: object) -> None:
        raise AssertionError("nobody heard SIGTERM")

    over = threading.Event()

    def watch() -> None:
        deadline = time.monotonic() + 900
        try:
            while not condition() and not over.is_set() and time.monotonic() < deadline:
                time.sleep(0.01)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, unheard)
    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        over.set()
        watching.join()
        signal.signal(signal.SIGTERM, before)
