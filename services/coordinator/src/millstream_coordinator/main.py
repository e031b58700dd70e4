"""The coordinator's container: `python -m millstream_coordinator.main --config FILE --set key=value`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from millstream_cluster.configs import BROKER_CONFIGS
from millstream_coordinator.app import CoordinatorApp
from millstream_coordinator.config import CoordinatorConfig
from millstream_runtime.process import configure_logging, run_services
from millstream_runtime.properties import Properties, PropertyError

HTTP_PORT = 9095
EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="millstream-coordinator", description="One coordinator.")
    parser.add_argument("--config", type=Path, help="a file of properties")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="one property; repeatable")
    options = parser.parse_args(arguments)
    configure_logging()
    try:
        properties = Properties.read(options.config, options.set)
        config = CoordinatorConfig.from_properties(properties)
        http_address = (properties.text("http.host", "0.0.0.0"), properties.integer("http.port", HTTP_PORT, most=65535))
        properties.refuse_unknown(BROKER_CONFIGS)
    except PropertyError as error:
        print(f"millstream-coordinator: {error}", file=sys.stderr)
        return EXIT_USAGE
    return run_services(lambda world: [CoordinatorApp(config, world)], http_address=http_address)


if __name__ == "__main__":
    sys.exit(main())
