"""`python -m millstream_simulation`: run seeds, say in a line each what came of it."""

import argparse
import logging
import os
import sys
import time
from collections.abc import Sequence

EXIT_VIOLATION = 1
EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    seeds = _seeds(options)
    if seeds is None:
        print(f"simulation: --seeds wants A..B, not {options.seeds!r}", file=sys.stderr)
        return EXIT_USAGE
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets of strings is part of what happens.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "millstream_simulation", *sys.argv[1:]])
    from millstream_simulation.scenario import simulate

    logging.getLogger().addHandler(logging.NullHandler())
    tell = print if options.verbose else None
    violated = False
    for seed in seeds:
        started = time.perf_counter()
        outcome = simulate(seed, tell=tell)
        print(f"{outcome} ({time.perf_counter() - started:.1f} s)", flush=True)
        violated = violated or outcome.violation is not None
    return EXIT_VIOLATION if violated else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="millstream_simulation", description="The whole system in virtual time with a hostile network."
    )
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, default=1, metavar="N")
    seeds.add_argument("--seeds", metavar="A..B", help="every seed from A to B")
    parser.add_argument("--verbose", action="store_true", help="tell the story")
    return parser


def _seeds(options: argparse.Namespace) -> range | None:
    if options.seeds is None:
        return range(options.seed, options.seed + 1)
    first, separator, last = options.seeds.partition("..")
    if not separator or not first.isdigit() or not last.isdigit():
        return None
    return range(int(first), int(last) + 1)


if __name__ == "__main__":
    sys.exit(main())
