"""The broker's container: `python -m millstream_broker.main --config FILE --set key=value`."""

import sys
from collections.abc import Sequence

from millstream_broker.app import BrokerApp
from millstream_broker.config import BrokerConfig
from millstream_runtime.entry import Build, run_service
from millstream_runtime.properties import Properties


def main(arguments: Sequence[str] | None = None) -> int:
    return run_service("millstream-broker", prepare, arguments)


def prepare(properties: Properties) -> Build:
    config = BrokerConfig.from_properties(properties)
    return lambda world: BrokerApp(config, world)


if __name__ == "__main__":
    sys.exit(main())
