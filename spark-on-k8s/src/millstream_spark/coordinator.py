"""Waits out a group's coordinator that moves or loads, as whoever is the first to ask in a new cluster meets it."""

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
