"""`make chaos`: real processes, faults by seed, and a judgement of all that their clients saw. See docs/decisions/chaos.md."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]

import isolation  # noqa: E402
from fault_plan import FOR_ITSELF, LOSES_DATA, MIXED, NEEDS_DISKS, NEEDS_NETWORK, Family  # noqa: E402
from kafka_tools import KafkaUnavailable, kafka_libs  # noqa: E402
from run import Options, Run  # noqa: E402

EXIT_VIOLATIONS, EXIT_USAGE = 1, 2


def main() -> int:
    options = _options()
    no_network = isolation.enter([str(HERE), *sys.argv[1:]])
    no_disks = isolation.disks_refusal()
    against_kafka = options.against == "kafka"
    if against_kafka:
        try:
            kafka_libs()
        except KafkaUnavailable as reason:
            print(f"chaos: Apache Kafka is not to be had: {reason}", file=sys.stderr)
            return EXIT_USAGE
    asked = (
        [each for each in Family if each not in FOR_ITSELF]
        if options.family == MIXED
        else [Family(name) for name in options.family.split(",")]
    )
    families = _possible(asked, no_network, no_disks, losing=options.factor > 1 or options.lose_data)
    if not families:
        print("chaos: nothing that was asked for is possible here", file=sys.stderr)
        return EXIT_USAGE
    directory = Path(tempfile.mkdtemp(prefix="millstream-chaos-", dir=options.directory))
    run = Run(
        Options(
            seed=options.seed,
            seconds=options.seconds,
            families=families,
            against_kafka=against_kafka,
            factor=options.factor,
            steady=options.steady,
            victims=options.victims,
            isolated=not no_network,
            has_disks=not no_disks,
            settings=options.set,
            topic_settings=options.topic_set,
            directory=directory,
        )
    )
    broken = run()
    if broken or options.keep:
        print(f"history and logs: {directory}")
    else:
        shutil.rmtree(directory)
    return EXIT_VIOLATIONS if broken else 0


def _possible(asked: list[Family], no_network: str, no_disks: str, *, losing: bool) -> list[Family]:
    """Without what cannot be done here; whatever is left out is said."""
    left_out = {
        "links cannot be cut": (NEEDS_NETWORK, no_network),
        "disks cannot fail": (NEEDS_DISKS, no_disks),
        "data would be lost by design": (LOSES_DATA, "" if losing else "there is one replica only"),
    }
    for what, (families, reason) in left_out.items():
        if reason and (lost := sorted(families & set(asked))):
            print(f"LEFT OUT: {', '.join(lost)}: {what}: {reason}", flush=True)
            asked = [family for family in asked if family not in families]
    return asked


def _options() -> argparse.Namespace:
    families = ", ".join(Family)
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=90, help="how long faults are made")
    parser.add_argument("--family", default=MIXED, help=f"{MIXED}, or some of {families}, with commas")
    parser.add_argument("--against", choices=["millstream", "kafka"], default="millstream")
    parser.add_argument("--factor", type=int, default=3, help="how many replicas each partition has")
    parser.add_argument("--lose-data", action="store_true", help="also with one replica: to see that losses are found")
    parser.add_argument(
        "--steady", action="store_true", help="members of groups stay: how long faults alone hold groups up"
    )
    parser.add_argument("--victims", default="", metavar="NAME", help="hit only those whose names begin with this")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a property for every process")
    parser.add_argument(
        "--topic-set", action="append", default=[], metavar="KEY=VALUE", help="a config for every topic"
    )
    parser.add_argument("--directory", type=Path, default=None, help="where the run's directory is made")
    parser.add_argument("--keep", action="store_true", help="keep the run's directory also if nothing was broken")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
