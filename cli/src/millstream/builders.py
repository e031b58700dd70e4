"""From one role's properties to its service; a role's package is imported only where that role is played."""

from collections.abc import Callable

from millstream.roles import Role
from millstream_runtime.properties import Properties
from millstream_runtime.service import Service
from millstream_runtime.world import World

Build = Callable[[World], Service]


def builder_of(role: Role, properties: Properties) -> Build:
    match role:
        case Role.CONTROLLER:
            from millstream_controller.app import ControllerApp
            from millstream_controller.config import ControllerConfig

            controller = ControllerConfig.from_properties(properties)
            return lambda world: ControllerApp(controller, world)
        case Role.BROKER:
            from millstream_broker.app import BrokerApp
            from millstream_broker.config import BrokerConfig

            broker = BrokerConfig.from_properties(properties)
            return lambda world: BrokerApp(broker, world)
        case Role.COORDINATOR:
            from millstream_coordinator.app import CoordinatorApp
            from millstream_coordinator.config import CoordinatorConfig

            coordinator = CoordinatorConfig.from_properties(properties)
            return lambda world: CoordinatorApp(coordinator, world)
