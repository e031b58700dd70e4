"""The container's entry: `python -m millstream_operator.main [--set key=value ...]`."""

import argparse
import logging
import sys

from millstream_operator.app import OperatorApp
from millstream_operator.config import OperatorConfig
from millstream_runtime.process import configure_logging, run_services
from millstream_runtime.properties import Properties, PropertyError

EXIT_USAGE = 2


def main() -> int:
    parser = argparse.ArgumentParser(description="Reconcile Cluster, Topic and ConsumerGroup resources.")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    arguments = parser.parse_args()
    try:
        properties = Properties.read(None, arguments.settings)
        config = OperatorConfig.from_properties(properties)
        properties.refuse_unknown()
    except PropertyError as error:
        print(f"millstream-operator: {error}", file=sys.stderr)
        return EXIT_USAGE
    configure_logging()
    # kopf tells of every event that it passes on; what we do about it is what matters.
    logging.getLogger("kopf").setLevel(logging.WARNING)
    return run_services(lambda world: [OperatorApp(world, config)], http_address=(config.http_host, config.http_port))


if __name__ == "__main__":
    sys.exit(main())
