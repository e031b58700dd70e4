"""`python -m millstream_simulation.explorer`: explore the cores that have a system here, say what came of it and how fast."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from millstream_simulation.explorer.explore import Explored, exhaust, wander
from millstream_simulation.explorer.replica import REPLICAS
from millstream_simulation.explorer.replication import ReplicationSystem
from millstream_simulation.explorer.ring import RingSystem

EXIT_BROKEN = 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="millstream_simulation.explorer", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the random schedules")
    parser.add_argument("--schedules", type=int, default=3000, help="how many random schedules")
    options = parser.parse_args(arguments)
    explorations: dict[str, Callable[[], Explored[Any]]] = {
        "ring, exhausted": lambda: exhaust([RingSystem.of(crashes=0)], steps_max=40),
        "ring, at random": lambda: wander(
            lambda: RingSystem.of(appends=4, breaks=3),
            seed=options.seed,
            schedules=options.schedules,
            steps_max=60,
        ),
        "replication, exhausted": lambda: exhaust(
            [ReplicationSystem.of(isr=isr, records=2, elections=1, fences=1) for isr in (REPLICAS, (0, 1))],
            steps_max=5,
        ),
        "replication, at random": lambda: wander(
            lambda: ReplicationSystem.of(breaks=2, elections=3),
            seed=options.seed,
            schedules=options.schedules,
            steps_max=60,
            states_max=0,
        ),
    }
    broken = False
    for name, explore in explorations.items():
        started = time.perf_counter()
        explored = explore()
        took_s = time.perf_counter() - started
        print(f"{name}: {explored}")
        print(f"  {explored.schedules / took_s:,.0f} schedules and {explored.steps / took_s:,.0f} steps a second")
        broken = broken or explored.broken is not None
    return EXIT_BROKEN if broken else 0


if __name__ == "__main__":
    sys.exit(main())
