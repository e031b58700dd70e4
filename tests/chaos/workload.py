"""One process of clients, by its role: workload.py ROLE BOOTSTRAP HISTORY SEED LIFE STEADY; SIGTERM says that the run is over.

It ends by itself then, with 0. What the clients see is in the history at once, so that a client library that hangs or dies loses
nothing. With a LIFE above 0 it takes such a one's place when the run is over: it only brings to an end what was left undone.
"""

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from clients import Surroundings
from copiers import Copier
from history import COMMITTED_ONLY, EVERYTHING, HistoryFile
from producers import OrdersProducer
from readers import Member, Watcher
from transactions import PaymentsProducer

GROUPS = {"classic": "readers-classic", "consumer": "readers-consumer"}
"""By protocol."""


def _clients(role: str, around: Surroundings) -> list[Callable[[], None]]:
    match role:
        case "orders":
            return [OrdersProducer(around, f"orders-{number}").run for number in range(3)]
        case "payments":
            return [PaymentsProducer(around, f"payer-{number}").run for number in range(2)]
        case "copies":
            return [Copier(around, f"copier-{number}").run for number in range(2)]
        case "watchers":
            return [Watcher(around, isolation).run for isolation in (EVERYTHING, COMMITTED_ONLY)]
        case "classic" | "consumer":
            return [Member(around, GROUPS[role], role, f"{role}-{number}").run for number in range(2)]
    raise ValueError(role)


ROLES = ("orders", "payments", "copies", "classic", "consumer", "watchers")
WRITERS = ("orders", "payments")
"""They end before the others, who read what they wrote."""


def main() -> None:
    role, bootstrap, path, seed, life, steady = sys.argv[1:]
    stop = threading.Event()
    if int(life):
        stop.set()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.register(signal.SIGUSR1)  # says in which call its threads hang
    around = Surroundings(bootstrap, HistoryFile(Path(path)), int(seed), stop, int(life), steady == "steady")
    failed: list[str] = []
    threads = [threading.Thread(target=_guarded, args=(run, failed), daemon=True) for run in _clients(role, around)]
    for thread in threads:
        thread.start()
    while not stop.wait(0.5) and not failed:
        pass
    for thread in threads:
        thread.join()
    os._exit(1 if failed else 0)


def _guarded(run: Callable[[], None], failed: list[str]) -> None:
    try:
        run()
    except BaseException:
        failed.append(str(run))
        raise


if __name__ == "__main__":
    main()
