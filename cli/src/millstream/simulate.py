"""`millstream simulate`: run seeds, say in a line each what came of it."""

import logging
import os
import sys
import time
from argparse import Namespace

EXIT_VIOLATION = 1
EXIT_USAGE = 2


def run_simulations(options: Namespace) -> int:
    seeds = _seeds(options)
    if seeds is None:
        print(f"millstream: --seeds wants A..B, not {options.seeds!r}", file=sys.stderr)
        return EXIT_USAGE
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets of strings is part of what happens.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "millstream.main", *sys.argv[1:]])
    from millstream.simulation.scenario import simulate

    logging.getLogger().addHandler(logging.NullHandler())
    tell = print if options.verbose else None
    violated = False
    for seed in seeds:
        started = time.perf_counter()
        outcome = simulate(seed, tell=tell)
        print(f"{outcome} ({time.perf_counter() - started:.1f} s)", flush=True)
        violated = violated or outcome.violation is not None
    return EXIT_VIOLATION if violated else 0


def _seeds(options: Namespace) -> range | None:
    if options.seeds is None:
        return range(options.seed, options.seed + 1)
    first, separator, last = options.seeds.partition("..")
    if not separator or not first.isdigit() or not last.isdigit():
        return None
    return range(int(first), int(last) + 1)
