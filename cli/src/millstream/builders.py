"""From one role's properties to its service; a role's package is imported only where that role is played.

What is wrong with the properties is said at once; the bulk of a package is imported when its service is built.
"""

from collections.abc import Callable, Sequence

from millstream.roles import Role
from millstream_cluster.records import MetadataRecord
from millstream_runtime.properties import Properties
from millstream_runtime.service import Service
from millstream_runtime.serving.door import Door
from millstream_runtime.world import World

Build = Callable[[World], Service]


def builder_of(
    role: Role, properties: Properties, door: Door | None = None, first_logins: Sequence[MetadataRecord] = ()
) -> Build:
    """`door`: shared by the roles of one process that clients meet. `first_logins`: what a new cluster begins with."""
    match role:
        case Role.CONTROLLER:
            return _controller(properties, first_logins)
        case Role.BROKER:
            return _broker(properties, door)
        case Role.COORDINATOR:
            return _coordinator(properties, door)


def _controller(properties: Properties, first_logins: Sequence[MetadataRecord]) -> Build:
    from millstream_controller.config import ControllerConfig

    config = ControllerConfig.from_properties(properties)

    def build(world: World) -> Service:
        from millstream_controller.app import ControllerApp

        return ControllerApp(config, world, first_logins=first_logins)

    return build


def _broker(properties: Properties, door: Door | None) -> Build:
    from millstream_broker.config import BrokerConfig

    config = BrokerConfig.from_properties(properties)

    def build(world: World) -> Service:
        from millstream_broker.app import BrokerApp

        return BrokerApp(config, world, door=door)

    return build


def _coordinator(properties: Properties, door: Door | None) -> Build:
    from millstream_coordinator.config import CoordinatorConfig

    config = CoordinatorConfig.from_properties(properties)

    def build(world: World) -> Service:
        from millstream_coordinator.app import CoordinatorApp

        return CoordinatorApp(config, world, door)

    return build
