"""What each role of a process is told: from the user's properties and a place on the machine to one role's properties.

The broker's listeners are the door for all clients of the process: a coordinator beside it has none of its own. Ports are
counted from the broker's: the next is the controller's, then that of a coordinator without a broker, then HTTP's.
"""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from millstream_runtime.properties import Properties, PropertyError, parse_address


class Role(StrEnum):
    """In the order in which a process starts them; it stops them the other way round."""

    CONTROLLER = "controller"
    BROKER = "broker"
    COORDINATOR = "coordinator"


PORT_OFFSETS = {Role.BROKER: 0, Role.CONTROLLER: 1, Role.COORDINATOR: 2}
HTTP_OFFSET = 3
PORTS = 4
LISTENER_NAMES = {Role.BROKER: "PLAINTEXT", Role.CONTROLLER: "CONTROLLER", Role.COORDINATOR: "PLAINTEXT"}
ON_ONE_MACHINE = {"group.initial.rebalance.delay.ms": "0"}
"""As in the properties that Kafka ships for a first try: nobody else is about to join, so a group need not wait for them."""

_ANY = ("0.0.0.0", "::", "")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node lives unless its properties say otherwise."""

    host: str
    ports: tuple[int, int, int, int]
    """Broker, controller, coordinator, HTTP."""
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


def properties_of(role: Role, roles: Sequence[Role], given: Properties, place: Place) -> Properties:
    """The user's properties with what follows from the place filled in; `listeners` are the first client-facing role's."""
    values = given.as_dict()
    at_the_door = role is Role.COORDINATOR and Role.BROKER in roles
    address_of = Role.BROKER if at_the_door else role
    if address_of is not _main_role(roles):
        _use_own_listener(role, values, place)
    defaults = {
        "node.id": "0",
        "process.roles": ",".join(roles),
        "listeners": f"{LISTENER_NAMES[role]}://{place.host}:{place.ports[PORT_OFFSETS[address_of]]}",
        "log.dirs": values.get("log.dir", str(place.data_dir / "broker")),
        "controller.store": f"file:{place.data_dir / 'controller'}",
    }
    if len(roles) > 1:
        defaults |= ON_ONE_MACHINE
    if Role.CONTROLLER in roles:
        port = _port_of_controller(roles, values, place)
        defaults["controller.bootstrap.servers"] = f"{place.reachable_host}:{port}"
    if place.host in _ANY:
        port = _listener_port(values.get("listeners", defaults["listeners"]))
        defaults["advertised.listeners"] = f"{LISTENER_NAMES[role]}://{socket.gethostname()}:{port}"
    if "controller.bootstrap.servers" not in {**defaults, **values}:
        raise PropertyError("controller.bootstrap.servers must be set: this process is no controller itself")
    return Properties({**defaults, **values})


def _main_role(roles: Sequence[Role]) -> Role:
    return Role.BROKER if Role.BROKER in roles else roles[-1]


def _use_own_listener(role: Role, values: dict[str, str], place: Place) -> None:
    """What the properties say of listeners is about the main role; the others keep the hosts and take their own ports."""
    port = place.ports[PORT_OFFSETS[role]]
    values.pop("inter.broker.listener.name", None)
    for key in ("listeners", "advertised.listeners"):
        text = values.pop(key, "")
        if text:
            host, _ = parse_address(key, text.split(",")[0].strip())
            values[key] = f"{LISTENER_NAMES[role]}://{host}:{port}"


def _port_of_controller(roles: Sequence[Role], values: Mapping[str, str], place: Place) -> int:
    if _main_role(roles) is Role.CONTROLLER and "listeners" in values:
        return _listener_port(values["listeners"])
    return place.ports[PORT_OFFSETS[Role.CONTROLLER]]


def _listener_port(listeners: str) -> int:
    return parse_address("listeners", listeners.split(",")[0].strip())[1]
