"""What one controller is told at its start: Kafka's properties, read and checked once."""

from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from millstream_cluster.configs import ConfigError
from millstream_cluster.coordinator_topics import CoordinatorTopics
from millstream_cluster.ids import COORDINATOR_ID_BASE, NodeId, Role, node_id_of
from millstream_cluster.quotas.windows import Windows
from millstream_cluster.records import Endpoint
from millstream_controller.core.logins.token_settings import TokenSettings
from millstream_controller.core.settings import Settings
from millstream_runtime.network.links import Limits
from millstream_runtime.nodes.audit_topic import audit_topic_of
from millstream_runtime.properties import Properties, PropertyError, parse_address
from millstream_runtime.serving.authorization import authorizer_config_of
from millstream_runtime.serving.listeners import WILDCARDS, limits_of, quota_windows_of
from millstream_runtime.serving.security import PLAIN_SECURITY, TOKEN_SECRET, Security, controller_security_of
from millstream_security.authorization.authorizer import AuthorizerConfig
from millstream_wire.late_dataclass import dataclass

DEFAULT_LISTENER = "CONTROLLER://127.0.0.1:9093"


@dataclass(frozen=True, slots=True)
class InDirectory:
    """`file:DIR`: the controllers of one machine share it."""

    path: Path


@dataclass(frozen=True, slots=True)
class InKubernetes:
    """`kubernetes:NAMESPACE/NAME`: objects of the API server, labelled with the cluster's name."""

    namespace: str
    name: str


StorePlace: TypeAlias = InDirectory | InKubernetes


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    node_id: NodeId
    """20,000 and node.id."""
    store: StorePlace
    """controller.store"""
    listener: Endpoint = field(default_factory=lambda: _endpoint("listeners", DEFAULT_LISTENER))
    """listeners: NAME://host:port, port 0 for any free one."""
    advertised: Endpoint | None = None
    """advertised.listeners: what other nodes are told; unset, the listener's own address."""
    security: Security = PLAIN_SECURITY
    """listener.security.protocol.map, ssl.*: what the listener asks for, and what is shown to other controllers."""
    cluster_id: str | None = None
    """cluster.id: refuse a store of any other cluster; a new store is given this one."""
    takeover_timeout_ms: int = 3_000
    """controller.takeover.timeout.ms: how long the active controller may be out of reach."""
    settings: Settings = field(default_factory=Settings)
    limits: Limits = field(default_factory=Limits)
    quota_windows: Windows = field(default_factory=Windows)
    """controller.quota.window.num, controller.quota.window.size.seconds"""
    authorizer: AuthorizerConfig | None = None
    """authorizer.class.name, super.users, allow.everyone.if.no.acl.found; None: everybody may do everything."""
    audit_topic: str | None = None
    """millstream.audit.topic"""

    @staticmethod
    def from_properties(properties: Properties) -> "ControllerConfig":
        listener = _endpoint("listeners", properties.text("listeners", DEFAULT_LISTENER))
        audit_topic = audit_topic_of(properties)
        security = controller_security_of(properties, listener, writes_to_brokers=audit_topic is not None)
        advertised = properties.optional("advertised.listeners")
        if advertised is None and listener.host in WILDCARDS:
            raise PropertyError("advertised.listeners must say how other nodes reach this controller")
        number = properties.integer("node.id", 0, least=0, most=COORDINATOR_ID_BASE - 1)
        return ControllerConfig(
            node_id=node_id_of(Role.CONTROLLER, number),
            store=_store(properties.text("controller.store")),
            listener=listener,
            advertised=_endpoint("advertised.listeners", advertised) if advertised is not None else None,
            security=security,
            cluster_id=properties.optional("cluster.id"),
            takeover_timeout_ms=properties.integer("controller.takeover.timeout.ms", 3_000, least=100),
            settings=Settings(
                num_partitions=properties.integer("num.partitions", 1, least=1),
                default_replication_factor=properties.integer("default.replication.factor", 1, least=1),
                coordinator_topics=_coordinator_topics(properties),
                delete_topic_enable=properties.boolean("delete.topic.enable", True),
                session_timeout_ms=properties.integer("broker.session.timeout.ms", 3_000, least=1),
                tokens=_tokens(properties),
                verify_timeout_ms=properties.integer("controller.verify.timeout.ms", 4_000, least=1),
                static=properties.as_dict(),
            ),
            limits=limits_of(properties),
            quota_windows=quota_windows_of(properties, "controller."),
            authorizer=authorizer_config_of(properties, has_credentials=security.asks_for_credentials),
            audit_topic=audit_topic,
        )


def _coordinator_topics(properties: Properties) -> CoordinatorTopics:
    try:
        return CoordinatorTopics.from_properties(properties.as_dict())
    except ConfigError as error:
        raise PropertyError(str(error)) from None


def _tokens(properties: Properties) -> TokenSettings:
    defaults = TokenSettings()
    return TokenSettings(
        secret_key=properties.optional(TOKEN_SECRET),
        max_lifetime_ms=properties.integer("delegation.token.max.lifetime.ms", defaults.max_lifetime_ms, least=1),
        expiry_ms=properties.integer("delegation.token.expiry.time.ms", defaults.expiry_ms, least=1),
        check_interval_ms=properties.integer(
            "delegation.token.expiry.check.interval.ms", defaults.check_interval_ms, least=1
        ),
    )


def _store(text: str) -> StorePlace:
    kind, _, place = text.partition(":")
    if kind == "file" and place:
        return InDirectory(Path(place))
    namespace, separator, name = place.partition("/")
    if kind == "kubernetes" and separator and namespace and name:
        return InKubernetes(namespace, name)
    raise PropertyError(f"controller.store must be file:DIR or kubernetes:NAMESPACE/NAME, not {text!r}")


def _endpoint(key: str, text: str) -> Endpoint:
    name, separator, _ = text.partition("://")
    if "," in text or not separator:
        raise PropertyError(f"{key} must be one NAME://host:port, not {text!r}")
    return Endpoint(name, *parse_address(key, text))
