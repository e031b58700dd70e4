"""What all clients of the workload have in common: settings, the topics' shape, keys, and a loop that ends when it is told."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Message
from history import HistoryFile, Trouble, now

ORDERS, PAYMENTS, COPIES = "orders", "payments", "copies"
PARTITIONS = {ORDERS: 6, PAYMENTS: 4, COPIES: 6}
"""Orders come from idempotent producers, payments in transactions, copies are orders that were read and written exactly once."""
SESSION_MS = 6_000
TIMEOUT_S = 20
PADDING_BYTES_MAX = 2_000
_RETRY_S = 0.2
COMMON = {
    # When every node is gone at once librdkafka would begin anew from its bootstrap list, and a call that waits for the
    # coordinator meanwhile never comes back.
    "metadata.recovery.strategy": "none",
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
    "retry.backoff.max.ms": 500,
    # It waits for whoever is silent as long as it is told to, an idempotent producer sends nothing to a partition's next leader
    # meanwhile, and it hears of that one when it looks. With its own 60 s and 5 minutes it would be all that is measured.
    "socket.timeout.ms": 3_000,
    "socket.connection.setup.timeout.ms": 3_000,
    "topic.metadata.refresh.interval.ms": 1_000,
    "log_level": 2,
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What each client is given. `stop` is set when the run is over."""

    bootstrap: str
    history: HistoryFile
    seed: int
    stop: threading.Event
    first_life: int = 0
    """Lives number the producers' names. A process that takes the place of another one begins where that one cannot have been."""
    steady: bool = False
    """Whether members of groups stay until the end: so that it shows for how long faults alone hold groups up."""

    def settings(self, **own: object) -> dict[str, object]:
        named = {key.replace("_", "."): value for key, value in own.items()}
        return {"bootstrap.servers": self.bootstrap, **COMMON, **named}

    def drawn(self, name: str) -> random.Random:
        return random.Random(f"{self.seed} {name}")

    def trouble(self, client: str, error: KafkaError | KafkaException, detail: str = "") -> KafkaError:
        """Note it, and return the error itself."""
        if isinstance(error, KafkaException):
            error = error.args[0]
        self.history.note(Trouble(client, f"{error.name()}: {error.str()}", error.fatal(), now(), detail))
        return error


def padding(drawn: random.Random) -> bytes:
    return drawn.randbytes(drawn.randrange(PADDING_BYTES_MAX))


def key_of(message: Message) -> str:
    key = message.key()
    return key.decode(errors="replace") if key is not None else ""


def persistently(around: Surroundings, client: str, act: Callable[[], None], give_up_after_s: float) -> None:
    """Try again what may be tried again; raises what may not, or the last error when the time is up."""
    deadline = time.monotonic() + give_up_after_s
    while True:
        try:
            act()
            return
        except KafkaException as error:
            if not around.trouble(client, error).retriable() or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_S)
