"""Waits out a group's coordinator that moves or loads, and does not wait for ever for one."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

ON_ITS_WAY = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
}
RETRY_S = 0.25

Answer = TypeVar("Answer")


def wait_out(ask: Callable[[], Answer], *, timeout_s: float) -> Answer:
    """Ask until a coordinator answers; raise what was answered last once the time is over."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in ON_ITS_WAY or time.monotonic() > deadline:
                raise
        time.sleep(RETRY_S)


def give_up_on(ask: Callable[[], object], *, timeout_s: float) -> None:
    """Ask in a thread of its own, for a client whose call may never return; raise KafkaException if it did not in time."""
    failed: list[Exception] = []

    def tried() -> None:
        try:
            ask()
        except Exception as error:
            failed.append(error)

    asking = threading.Thread(target=tried, daemon=True)
    asking.start()
    asking.join(timeout_s)
    if asking.is_alive():
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"no coordinator has answered in {timeout_s} s"))
    if failed:
        raise failed[0]
