"""The controller's container: `python -m millstream_controller.main --config FILE --set key=value`."""

import sys
from collections.abc import Sequence

from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_runtime.entry import Build, run_service
from millstream_runtime.properties import Properties


def main(arguments: Sequence[str] | None = None) -> int:
    return run_service("millstream-controller", prepare, arguments)


def prepare(properties: Properties) -> Build:
    config = ControllerConfig.from_properties(properties)
    return lambda world: ControllerApp(config, world)


if __name__ == "__main__":
    sys.exit(main())
