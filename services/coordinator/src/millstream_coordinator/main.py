"""The coordinator's container: `python -m millstream_coordinator.main --config FILE --set key=value`."""

import sys
from collections.abc import Sequence

from millstream_coordinator.app import CoordinatorApp
from millstream_coordinator.config import CoordinatorConfig
from millstream_runtime.entry import Build, run_service
from millstream_runtime.properties import Properties


def main(arguments: Sequence[str] | None = None) -> int:
    return run_service("millstream-coordinator", prepare, arguments)


def prepare(properties: Properties) -> Build:
    config = CoordinatorConfig.from_properties(properties)
    return lambda world: CoordinatorApp(config, world)


if __name__ == "__main__":
    sys.exit(main())
