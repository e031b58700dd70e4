"""`python -m millstream_simulation`: run seeds, say in a line each what came of it, and what the range has been through."""

import argparse
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence

from millstream_simulation.situations import missed, table

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
    violated: list[int] = []
    situations: Counter[str] = Counter()
    for seed in seeds:
        started_s = time.process_time()
        outcome = simulate(seed, tell=tell)
        situations.update(outcome.situations)
        if outcome.violation is not None:
            violated.append(seed)
        if outcome.violation is not None or not options.quiet:
            print(f"{outcome} ({time.process_time() - started_s:.1f} s)", flush=True)
    missing = missed(situations, len(seeds))
    if len(seeds) > 1:
        print(*table(situations, len(seeds)), sep="\n")
        minutes = time.process_time() / 60 * 1000 / len(seeds)
        print(f"{len(seeds)} seeds, {len(violated)} violated {violated}; {minutes:.1f} CPU minutes per 1,000 seeds")
    if missing:
        print(f"simulation: a range this large has to have been in: {', '.join(missing)}", file=sys.stderr)
    return EXIT_VIOLATION if violated or missing else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="millstream_simulation", description="The whole system in virtual time with a hostile network."
    )
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, default=1, metavar="N")
    seeds.add_argument("--seeds", metavar="A..B", help="every seed from A to B")
    seeds.add_argument("--from", type=int, dest="first", metavar="N", help="the first of --count seeds")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="how many seeds, with --from")
    parser.add_argument("--quiet", action="store_true", help="no line for a seed that broke no promise")
    parser.add_argument("--verbose", action="store_true", help="tell the story")
    return parser


def _seeds(options: argparse.Namespace) -> range | None:
    if options.first is not None:
        return range(options.first, options.first + options.count)
    if options.seeds is None:
        return range(options.seed, options.seed + 1)
    first, separator, last = options.seeds.partition("..")
    if not separator or not first.isdigit() or not last.isdigit():
        return None
    return range(int(first), int(last) + 1)


if __name__ == "__main__":
    sys.exit(main())
