"""What each role of a process is told: from the user's properties and a place on the machine to one role's properties.

The broker's listeners are the door for all clients of the process: a coordinator beside it has none of its own. Ports are
counted from the broker's: the next is the controller's, then that of a coordinator without a broker, then HTTP's, then the console's.
"""

import socket
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from millstream_runtime.nodes.audit_topic import AUDIT_TOPIC
from millstream_runtime.properties import Properties, PropertyError, parse_address
from millstream_runtime.serving.authorization import STANDARD_AUTHORIZER
from millstream_security.protocol import SecurityProtocol
from millstream_wire.late_dataclass import dataclass


class Role(StrEnum):
    """In the order in which a process starts them; it stops them the other way round."""

    CONTROLLER = "controller"
    BROKER = "broker"
    COORDINATOR = "coordinator"


PORT_OFFSETS = {Role.BROKER: 0, Role.CONTROLLER: 1, Role.COORDINATOR: 2}
HTTP_OFFSET = 3
CONSOLE_OFFSET = 4
PORTS = 5
ON_ONE_MACHINE = {"group.initial.rebalance.delay.ms": "0"}
"""As in the properties that Kafka ships for a first try: nobody else is about to join, so a group need not wait for them."""

_ANY = ("0.0.0.0", "::", "")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node lives unless its properties say otherwise."""

    host: str
    ports: tuple[int, ...]
    """Broker, controller, coordinator, HTTP; and the console, where there may be one."""
    data_dir: Path

    @property
    def reachable_host(self) -> str:
        """What this machine's own processes can connect to."""
        return "127.0.0.1" if self.host in _ANY else self.host


def roles_of(properties: Properties) -> tuple[Role, ...]:
    names = properties.texts("process.roles", ",".join(Role))
    unknown = sorted(set(names) - set(Role))
    if unknown or not names:
        raise PropertyError(f"process.roles must be some of {','.join(Role)}, not {','.join(unknown or names)!r}")
    return tuple(role for role in Role if role in names)


def listener_name(role: Role, values: Mapping[str, str]) -> str:
    """What a role's listener is called where the properties do not list any."""
    if role is Role.CONTROLLER:
        return _controller_names(values)[0]
    named = values.get("inter.broker.listener.name", values.get("security.inter.broker.protocol", ""))
    return named.strip() or "PLAINTEXT"


def properties_of(role: Role, roles: Sequence[Role], given: Properties, place: Place) -> Properties:
    """The user's properties with what follows from the place filled in; `listeners` are the first client-facing role's.

    Those among them that controller.listener.names names are the controller's, as in Kafka's properties.
    """
    values = given.as_dict()
    at_the_door = role is Role.COORDINATOR and Role.BROKER in roles
    address_of = Role.BROKER if at_the_door else role
    controllers = _take_controllers(values) if _main_role(roles) is not Role.CONTROLLER else {}
    if address_of is not _main_role(roles):
        _use_own_listener(role, values, place)
    if role is Role.CONTROLLER and len(roles) > 1:
        values.pop(AUDIT_TOPIC, None)  # another role of the process is connected to brokers, and writes for all of them
    if role is Role.CONTROLLER and controllers:
        values.pop("advertised.listeners", None)
        values |= controllers
    name = listener_name(role, values)
    defaults = {
        "node.id": "0",
        "process.roles": ",".join(roles),
        "listeners": f"{name}://{place.host}:{place.ports[PORT_OFFSETS[address_of]]}",
        "log.dirs": values.get("log.dir", str(place.data_dir / "broker")),
        "controller.store": f"file:{place.data_dir / 'controller'}",
    }
    if len(roles) > 1:
        defaults |= ON_ONE_MACHINE
    if _asks_for_credentials(given.as_dict()):
        # The controller is asked in the name of clients that others have let in: it may not know of their listeners.
        defaults["authorizer.class.name"] = STANDARD_AUTHORIZER
    if Role.CONTROLLER in roles:
        host, port = _address_of_controller(roles, values | controllers, place)
        defaults["controller.bootstrap.servers"] = f"{host}:{port}"
    if place.host in _ANY:
        defaults["advertised.listeners"] = _advertised(values.get("listeners", defaults["listeners"]))
    if "controller.bootstrap.servers" not in {**defaults, **values}:
        raise PropertyError("controller.bootstrap.servers must be set: this process is no controller itself")
    return Properties({**defaults, **values})


def _asks_for_credentials(values: Mapping[str, str]) -> bool:
    """Whether a listener of this process has the name of a protocol with credentials; other names are in the map of protocols."""
    names = [item.partition("://")[0].strip() for item in values.get("listeners", "").split(",")]
    protocols = [SecurityProtocol.named(name) for name in (*names, listener_name(Role.BROKER, values))]
    return any(protocol not in (None, SecurityProtocol.PLAINTEXT) for protocol in protocols)


def _main_role(roles: Sequence[Role]) -> Role:
    return Role.BROKER if Role.BROKER in roles else roles[-1]


def _controller_names(values: Mapping[str, str]) -> list[str]:
    names = [name.strip() for name in values.get("controller.listener.names", "").split(",") if name.strip()]
    return names or ["CONTROLLER"]


def _take_controllers(values: dict[str, str]) -> dict[str, str]:
    """Out of a process's listeners, and of what it advertises, those of its controller."""
    names = _controller_names(values)
    taken = {}
    for key in ("listeners", "advertised.listeners"):
        items = [item.strip() for item in values.get(key, "").split(",") if item.strip()]
        own = [item for item in items if item.partition("://")[0] in names]
        if own:
            taken[key] = ",".join(own)
            values[key] = ",".join(item for item in items if item not in own)
            if not values[key]:
                del values[key]
    return taken


def _use_own_listener(role: Role, values: dict[str, str], place: Place) -> None:
    """What the properties say of listeners is about the main role; the others keep the hosts and take their own ports."""
    port = place.ports[PORT_OFFSETS[role]]
    name = listener_name(role, values)
    values.pop("inter.broker.listener.name", None)
    values.pop("security.inter.broker.protocol", None)
    for key in ("listeners", "advertised.listeners"):
        text = values.pop(key, "")
        if text:
            host, _ = parse_address(key, text.split(",")[0].strip())
            values[key] = f"{name}://{host}:{port}"


def _address_of_controller(roles: Sequence[Role], values: Mapping[str, str], place: Place) -> tuple[str, int]:
    """Where the controller of this process is found from within it."""
    items = [item.strip() for item in values.get("listeners", "").split(",") if item.strip()]
    if _main_role(roles) is not Role.CONTROLLER:
        items = [item for item in items if item.partition("://")[0] in _controller_names(values)]
    if items:
        host, port = parse_address("listeners", items[0])
        named = _main_role(roles) is not Role.CONTROLLER and host not in _ANY
        return (host if named else place.reachable_host), port
    return place.reachable_host, place.ports[PORT_OFFSETS[Role.CONTROLLER]]


def _advertised(listeners: str) -> str:
    """Each listener by this machine's name."""
    items = [item.strip() for item in listeners.split(",") if item.strip()]
    host = socket.gethostname()
    return ",".join(f"{item.partition('://')[0]}://{host}:{parse_address('listeners', item)[1]}" for item in items)
