"""Which of a service's listeners ask for what, and what it shows where it connects: Kafka's properties, the same for every service."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from millstream_cluster.records import Endpoint
from millstream_runtime.nodes.credentials import PLAIN, Credentials
from millstream_runtime.properties import Properties, PropertyError
from millstream_runtime.serving.guard import NO_GUARD, Guard
from millstream_security.protocol import ListenerProperties, ListenerSecurity, SecurityProtocol
from millstream_wire.late_dataclass import dataclass

if TYPE_CHECKING:
    from millstream_security.sasl.login import Login
    from millstream_security.sasl.settings import SaslSettings
    from millstream_security.tls.contexts import ClientTls, ServerTls

PROTOCOL_MAP = "listener.security.protocol.map"
CONTROLLER_LISTENERS = "controller.listener.names"
CONTROLLER_LISTENER = "CONTROLLER"
INTER_BROKER_LISTENER = "inter.broker.listener.name"
INTER_BROKER_PROTOCOL = "security.inter.broker.protocol"
INTER_BROKER_MECHANISM = "sasl.mechanism.inter.broker.protocol"
TOKEN_SECRET = "delegation.token.secret.key"
CONTROLLER_MECHANISM = "sasl.mechanism.controller.protocol"
_PREFIX = "listener.name."

SHIPPED_MAP = {protocol.name: protocol for protocol in SecurityProtocol}

Ask: TypeAlias = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Security:
    """What one service is told about the security of its connections; unless it is told anything, they are plain."""

    guards: Mapping[str, Guard] = field(default_factory=dict)
    """By listener."""
    nodes: Credentials = PLAIN
    """For connections to brokers and coordinators."""
    controllers: Credentials = PLAIN
    """For connections to controllers."""

    others_ask: bool = False
    """listener.security.protocol.map names a protocol with credentials, here or for another role: what comes from there is forwarded."""

    def guard(self, listener: str) -> Guard:
        return self.guards.get(listener, NO_GUARD)

    @property
    def asks_for_credentials(self) -> bool:
        """Whether anybody may have to show who they are, on any of the listeners or on another node's."""
        return self.others_ask or any(not guard.security.is_plain for guard in self.guards.values())


PLAIN_SECURITY = Security()


def security_of(properties: Properties, listeners: Sequence[Endpoint], nodes_listener: str | None = None) -> Security:
    """Of a broker or coordinator. Raises PropertyError."""
    protocols = _Protocols(properties)
    guards = {endpoint.name: _guard(protocols.security(endpoint.name)) for endpoint in listeners}
    nodes = guards[nodes_listener or listeners[0].name].security
    controllers = protocols.security(controller_listener_of(properties))
    protocols.know_the_others()
    return Security(
        guards,
        _credentials(nodes, INTER_BROKER_MECHANISM, properties.optional),
        _credentials(controllers, CONTROLLER_MECHANISM, properties.optional),
        others_ask=protocols.ask_for_credentials,
    )


def controller_security_of(properties: Properties, listener: Endpoint, *, writes_to_brokers: bool = False) -> Security:
    """Of a controller: its own listener is also how it reaches the others. Raises PropertyError."""
    protocols = _Protocols(properties)
    controller_listener_of(properties)
    security = protocols.security(listener.name)
    protocols.know_the_others()
    controllers = _credentials(security, CONTROLLER_MECHANISM, properties.optional)
    brokers = properties.optional(INTER_BROKER_LISTENER)
    nodes = PLAIN
    if writes_to_brokers and brokers is not None:
        nodes = _credentials(protocols.security(brokers), INTER_BROKER_MECHANISM, properties.optional)
    return Security({listener.name: _guard(security)}, nodes, controllers, others_ask=protocols.ask_for_credentials)


def controller_listener_of(properties: Properties) -> str:
    """controller.listener.names: by the first of them nodes connect to controllers."""
    names = properties.texts(CONTROLLER_LISTENERS, CONTROLLER_LISTENER)
    if not names:
        raise PropertyError(f"{CONTROLLER_LISTENERS} must name at least one listener")
    return names[0]


def nodes_first(properties: Properties, listeners: tuple[Endpoint, ...]) -> tuple[tuple[Endpoint, ...], str | None]:
    """Where nodes come in, if that is said, and the listeners with that one in front: others use the first that is registered."""
    name, text = properties.optional(INTER_BROKER_LISTENER), properties.optional(INTER_BROKER_PROTOCOL)
    if name is not None and text is not None:
        raise PropertyError(f"{INTER_BROKER_LISTENER} and {INTER_BROKER_PROTOCOL} exclude each other: set one of them")
    if text is not None:
        name = _named_by_protocol(properties, listeners, text)
    if name is None:
        return listeners, None
    if name not in {endpoint.name for endpoint in listeners}:
        raise PropertyError(f"{INTER_BROKER_LISTENER} must be the name of one of listeners, not {name!r}")
    return tuple(sorted(listeners, key=lambda endpoint: endpoint.name != name)), name


def _named_by_protocol(properties: Properties, listeners: Sequence[Endpoint], text: str) -> str:
    wanted, protocols = _protocol(INTER_BROKER_PROTOCOL, text), _Protocols(properties)
    for endpoint in listeners:
        if protocols.security(endpoint.name).protocol is wanted:
            return endpoint.name
    raise PropertyError(f"{INTER_BROKER_PROTOCOL} is {wanted.name}, and none of listeners speaks that")


class _Protocols:
    """listener.security.protocol.map; unset, a listener has the name of its protocol, and the controllers' is plain."""

    def __init__(self, properties: Properties) -> None:
        self._properties = properties
        self._map: dict[str, SecurityProtocol] = {}
        self._is_set = properties.optional(PROTOCOL_MAP) is not None
        controllers = properties.optional(CONTROLLER_LISTENERS)
        self._unmapped = [CONTROLLER_LISTENER] if self._is_set or controllers is None else controllers.split(",")
        for item in properties.texts(PROTOCOL_MAP, ""):
            name, separator, protocol = item.rpartition(":")
            if not separator or not name:
                raise PropertyError(f"{PROTOCOL_MAP} must be NAME:PROTOCOL,NAME:PROTOCOL, not {item!r}")
            self._map[name.strip()] = _protocol(PROTOCOL_MAP, protocol.strip())

    def security(self, listener: str) -> ListenerSecurity:
        return ListenerSecurity(
            listener, self._protocol_of(listener), ListenerProperties(listener, self._properties.optional)
        )

    @property
    def ask_for_credentials(self) -> bool:
        named = self._map.items() - SHIPPED_MAP.items() if self._is_as_shipped else self._map.items()
        return any(protocol is not SecurityProtocol.PLAINTEXT for _, protocol in named)

    @property
    def _is_as_shipped(self) -> bool:
        """The server.properties that Kafka ships names every protocol. Beside no setting of any of them that says nothing about listeners elsewhere."""
        told = any(key.startswith(("ssl.", "sasl.", _PREFIX)) for key in self._properties.as_dict())
        return not told and SHIPPED_MAP.items() <= self._map.items()

    def know_the_others(self) -> None:
        """A file that several processes share has settings of listeners which this one does not have."""
        for key in self._properties.as_dict():
            if key.startswith(_PREFIX) and key.removeprefix(_PREFIX).partition(".")[0] in {
                name.lower() for name in self._map
            }:
                self._properties.optional(key)

    def _protocol_of(self, listener: str) -> SecurityProtocol:
        found = self._map.get(listener)
        if found is None and not self._is_set:
            found = SecurityProtocol.named(listener)
        if found is None and listener in self._unmapped:
            found = SecurityProtocol.PLAINTEXT
        if found is None:
            raise PropertyError(
                f"{PROTOCOL_MAP} must say what the listener {listener} speaks: add {listener}:SSL, or another of "
                f"{', '.join(each.name for each in SecurityProtocol)}"
            )
        return found


def _protocol(key: str, text: str) -> SecurityProtocol:
    found = SecurityProtocol.named(text)
    if found is None:
        raise PropertyError(f"{key} must name one of {', '.join(each.name for each in SecurityProtocol)}, not {text!r}")
    return found


def _guard(security: ListenerSecurity) -> Guard:
    tls = _server_tls(security) if security.protocol.uses_tls else None
    return Guard(security, tls, _sasl(security) if security.protocol.uses_sasl else None)


def _server_tls(security: ListenerSecurity) -> "ServerTls":
    from millstream_security.tls.contexts import ServerTls
    from millstream_security.tls.errors import TlsConfigError
    from millstream_security.tls.settings import TlsSettings

    try:
        return ServerTls(security.name, TlsSettings.of(security.properties))
    except TlsConfigError as error:
        raise PropertyError(str(error)) from None


def _sasl(security: ListenerSecurity) -> "SaslSettings":
    from millstream_security.sasl.errors import SaslConfigError
    from millstream_security.sasl.settings import SaslSettings

    try:
        return SaslSettings.of(security.properties)
    except SaslConfigError as error:
        raise PropertyError(str(error)) from None


def _credentials(security: ListenerSecurity, mechanism_key: str, ask: Ask) -> Credentials:
    tls = _client_tls(security) if security.protocol.uses_tls else None
    login = _login(security, mechanism_key, ask) if security.protocol.uses_sasl else None
    return Credentials(security.protocol, tls, login)


def _client_tls(security: ListenerSecurity) -> "ClientTls":
    from millstream_security.tls.contexts import ClientTls
    from millstream_security.tls.errors import TlsConfigError
    from millstream_security.tls.settings import TlsSettings

    try:
        return ClientTls(security.name, TlsSettings.of(security.properties))
    except TlsConfigError as error:
        raise PropertyError(str(error)) from None


def _login(security: ListenerSecurity, mechanism_key: str, ask: Ask) -> "Login":
    """By the same jaas.config of the listener that has the accounts of PLAIN, as with Kafka."""
    from millstream_security.sasl.errors import SaslConfigError
    from millstream_security.sasl.login import login_of
    from millstream_security.sasl.settings import jaas_key

    mechanism = ask(mechanism_key)
    if mechanism is None:
        raise PropertyError(
            f"{mechanism_key} must be set: by which mechanism nodes log in on the listener {security.name}"
        )
    key = jaas_key(mechanism)
    try:
        return login_of(
            mechanism,
            security.properties.own(key),
            mechanism_key=mechanism_key,
            jaas_key=f"listener.name.{security.name.lower()}.{key}",
            ask=security.properties.get,
        )
    except SaslConfigError as error:
        raise PropertyError(str(error)) from None
