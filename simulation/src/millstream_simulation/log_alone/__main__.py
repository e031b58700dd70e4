"""`python -m millstream_simulation.log_alone`: let logs go through courses, one by each seed, and say what came of it."""

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Sequence

from millstream_simulation.log_alone.draw import Trouble
from millstream_simulation.log_alone.judged import judged

EXIT_VIOLATION = 1
EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="millstream_simulation.log_alone", description=__doc__)
    parser.add_argument("--seeds", default="1..100", metavar="A..B")
    parser.add_argument("--without", action="append", default=[], choices=list(Trouble), help="leave out this trouble")
    options = parser.parse_args(arguments)
    first, separator, last = options.seeds.partition("..")
    if not separator or not first.isdigit() or not last.isdigit():
        parser.error(f"--seeds wants A..B, not {options.seeds!r}")
    logging.getLogger().addHandler(logging.NullHandler())
    situations: Counter[str] = Counter()
    violated = 0
    for seed in range(int(first), int(last) + 1):
        outcome = judged(seed, without=frozenset(map(Trouble, options.without)))
        situations.update(outcome.situations)
        if outcome.violation is not None:
            violated += 1
            print(f"seed {seed}: VIOLATION {outcome.violation}; {outcome.draw}; {', '.join(outcome.steps)}", flush=True)
    for situation, times in sorted(situations.items()):
        print(f"{situation:30} {times:9,}")
    print(f"{violated} violated")
    return EXIT_VIOLATION if violated else 0


if __name__ == "__main__":
    sys.exit(main())
