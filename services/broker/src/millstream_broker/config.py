"""What one broker is told: Kafka's properties, read and checked at its start, and some of them again when they are set dynamically.

Topic defaults are not here: every property stays in `properties`, from which they are resolved together with what is set
dynamically (`millstream_cluster.configs.EffectiveConfigs`).
"""

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from millstream_broker.cleaner_config import CleanerConfig
from millstream_broker.core.reads.replica_selection import RACK_AWARE_SELECTOR
from millstream_broker.core.replication.throttle import FOLLOWER_RATE, LEADER_RATE
from millstream_cluster.configs import BROKER_CONFIGS, ConfigError
from millstream_cluster.configs.key import LONG_MAX
from millstream_cluster.coordinator_topics import CoordinatorTopics
from millstream_cluster.ids import COORDINATOR_ID_BASE
from millstream_cluster.image import Image
from millstream_cluster.records import Endpoint, ResourceType
from millstream_runtime.network.links import Limits
from millstream_runtime.nodes.audit_topic import audit_topic_of
from millstream_runtime.properties import Properties, PropertyError
from millstream_runtime.serving.authorization import authorizer_config_of
from millstream_runtime.serving.listeners import CONNECTIONS_MAX, CREATION_RATE, limits_of, listeners_of
from millstream_runtime.serving.security import PLAIN_SECURITY, TOKEN_SECRET, Security, nodes_first, security_of
from millstream_security.authorization.authorizer import AuthorizerConfig
from millstream_wire.late_dataclass import dataclass

DEFAULT_LISTENER = "PLAINTEXT"
DEFAULT_PORT = 9092
VERIFIES_TRANSACTIONS = "transaction.partition.verification.enable"
PRODUCER_ID_EXPIRATION = "producer.id.expiration.ms"
CORDONED = "cordoned.log.dirs"
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
READ_AGAIN = frozenset(
    {
        CORDONED,
        FOLLOWER_RATE,
        LEADER_RATE,
        LOG_DIRS_RATE,
        VERIFIES_TRANSACTIONS,
        PRODUCER_ID_EXPIRATION,
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        CONNECTIONS_MAX,
        CREATION_RATE,
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
    }
)
"""What may be set while the broker runs, beside the defaults of topics."""


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    node_id: int
    """node.id: 0 to 9999."""
    data_dir: Path
    """log.dirs: the first of them."""
    controllers: tuple[tuple[str, int], ...]
    """controller.bootstrap.servers: every controller's host and port."""
    listeners: tuple[Endpoint, ...] = (Endpoint(DEFAULT_LISTENER, "127.0.0.1", DEFAULT_PORT),)
    """listeners: NAME://host:port, port 0 for any free one."""
    advertised_listeners: tuple[Endpoint, ...] = ()
    """advertised.listeners: what clients are told; where a name is missing, its listener's own address."""
    nodes_listener: str | None = None
    """inter.broker.listener.name: where other nodes come in, and nobody else is one; unset, on any listener."""
    security: Security = PLAIN_SECURITY
    """listener.security.protocol.map, ssl.*: what each listener asks for, and what is shown to other nodes."""
    token_secret: str | None = field(default=None, repr=False)
    """delegation.token.secret.key: the same on all nodes; unset, there are no delegation tokens."""
    rack: str | None = None
    """broker.rack"""
    selects_closest_replica: bool = False
    """replica.selector.class: whether consumers are sent to a follower in their rack, or always read from leaders."""
    cluster_id: str | None = None
    """cluster.id: refuse any other cluster; unset, whatever the data directory or else the controller says."""
    heartbeat_interval_ms: int = 500
    """broker.heartbeat.interval.ms"""
    session_timeout_ms: int = 3_000
    """broker.session.timeout.ms"""
    request_timeout_ms: int = 30_000
    """request.timeout.ms: how long the controller may take to answer what was forwarded, and replicas to have a transaction's marker."""
    num_partitions: int = 1
    """num.partitions: of topics that are created automatically."""
    default_replication_factor: int = 1
    """default.replication.factor: of topics that are created automatically."""
    auto_create_topics: bool = True
    """auto.create.topics.enable"""
    coordinator_topics: CoordinatorTopics = field(default_factory=CoordinatorTopics)
    """offsets.topic.*, transaction.state.log.*, share.coordinator.state.topic.*"""
    share_sessions_max: int = 2_000
    """group.share.max.share.sessions"""
    add_partitions_retry_backoff_ms: int = 20
    """add.partitions.to.txn.retry.backoff.ms"""
    add_partitions_retry_max_ms: int = 100
    """add.partitions.to.txn.retry.backoff.max.ms: how long a transaction's first batch waits here for the end of the one before."""
    verifies_transactions: bool = True
    """transaction.partition.verification.enable"""
    fetch_max_bytes: int = 55 << 20
    """fetch.max.bytes: the most one Fetch is answered with."""
    replica_fetch_wait_max_ms: int = 500
    """replica.fetch.wait.max.ms: how long a leader holds a follower's request in which there is nothing new."""
    replica_fetch_min_bytes: int = 1
    """replica.fetch.min.bytes"""
    replica_fetch_max_bytes: int = 1 << 20
    """replica.fetch.max.bytes: of one partition; a batch that is larger comes on its own."""
    replica_fetch_response_max_bytes: int = 10 << 20
    """replica.fetch.response.max.bytes: of all partitions together."""
    replica_fetch_backoff_ms: int = 1_000
    """replica.fetch.backoff.ms: the longest wait before a leader is asked again that did not answer well."""
    replica_socket_timeout_ms: int = 10_000
    """replica.socket.timeout.ms: how long a leader may be late with its answer."""
    replica_lag_time_max_ms: int = 10_000
    """replica.lag.time.max.ms"""
    fetch_session_slots: int = 1_000
    """max.incremental.fetch.session.cache.slots"""
    producer_id_expiration_ms: int = 86_400_000
    """producer.id.expiration.ms"""
    follower_throttled_rate: int = LONG_MAX
    """follower.replication.throttled.rate, in bytes a second"""
    leader_throttled_rate: int = LONG_MAX
    """leader.replication.throttled.rate, in bytes a second"""
    retention_check_interval_ms: int = 300_000
    """log.retention.check.interval.ms"""
    other_data_dirs: tuple[Path, ...] = ()
    """log.dirs: the others."""
    log_dirs_bytes_per_s: int = LONG_MAX
    """replica.alter.log.dirs.io.max.bytes.per.second: how fast replicas move from one to another."""
    cordoned_log_dirs: tuple[str, ...] = ()
    """cordoned.log.dirs: which of them get no new partitions; *: all of them"""
    checkpoint_interval_ms: int = 60_000
    """log.flush.offset.checkpoint.interval.ms"""
    controlled_shutdown_timeout_ms: int = 10_000
    """How long a clean stop waits for the controller to let go; Kafka retries instead of having a key for it."""
    cleaner: CleanerConfig = field(default_factory=CleanerConfig)
    limits: Limits = field(default_factory=Limits)
    authorizer: AuthorizerConfig | None = None
    """authorizer.class.name, super.users, allow.everyone.if.no.acl.found; None: everybody may do everything."""
    audit_topic: str | None = None
    """millstream.audit.topic"""
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Every property of the process, for DescribeConfigs and topic defaults."""

    @property
    def data_dirs(self) -> tuple[Path, ...]:
        return (self.data_dir, *self.other_data_dirs)

    def as_set(self, image: Image) -> "BrokerConfig":
        """With what is set dynamically for this broker, or for all."""
        common, own = (image.config(ResourceType.BROKER, name) for name in ("", str(self.node_id)))
        dynamic = {name: text for name, text in {**common, **own}.items() if name in READ_AGAIN}
        if not dynamic:
            return self
        properties = Properties({**self.properties, **dynamic})
        return replace(
            self,
            verifies_transactions=properties.boolean(VERIFIES_TRANSACTIONS, self.verifies_transactions),
            producer_id_expiration_ms=properties.integer(PRODUCER_ID_EXPIRATION, self.producer_id_expiration_ms),
            follower_throttled_rate=properties.integer(FOLLOWER_RATE, self.follower_throttled_rate),
            leader_throttled_rate=properties.integer(LEADER_RATE, self.leader_throttled_rate),
            cordoned_log_dirs=_paths(properties, CORDONED),
            log_dirs_bytes_per_s=properties.integer(LOG_DIRS_RATE, self.log_dirs_bytes_per_s),
            cleaner=CleanerConfig.from_properties(properties),
            limits=limits_of(properties),
        )

    @staticmethod
    def from_properties(properties: Properties) -> "BrokerConfig":
        _check_values(properties)
        listeners, advertised = listeners_of(properties, f"{DEFAULT_LISTENER}://127.0.0.1:{DEFAULT_PORT}")
        listeners, nodes_listener = nodes_first(properties, listeners)
        security = security_of(properties, listeners, nodes_listener)
        data_dirs = _data_dirs(properties.text("log.dirs", properties.optional("log.dir")))
        return BrokerConfig(
            node_id=properties.integer("node.id", 0, least=0, most=COORDINATOR_ID_BASE - 1),
            data_dir=data_dirs[0],
            other_data_dirs=data_dirs[1:],
            cordoned_log_dirs=_paths(properties, CORDONED),
            log_dirs_bytes_per_s=properties.integer(LOG_DIRS_RATE, LONG_MAX, least=1),
            controllers=properties.addresses("controller.bootstrap.servers"),
            listeners=listeners,
            advertised_listeners=advertised,
            nodes_listener=nodes_listener,
            security=security,
            token_secret=properties.optional(TOKEN_SECRET),
            audit_topic=audit_topic_of(properties),
            rack=properties.optional("broker.rack"),
            selects_closest_replica=properties.optional("replica.selector.class") == RACK_AWARE_SELECTOR,
            cluster_id=properties.optional("cluster.id"),
            heartbeat_interval_ms=properties.integer("broker.heartbeat.interval.ms", 500, least=1),
            session_timeout_ms=properties.integer("broker.session.timeout.ms", 3_000, least=1),
            request_timeout_ms=properties.integer("request.timeout.ms", 30_000, least=1),
            num_partitions=properties.integer("num.partitions", 1, least=1),
            default_replication_factor=properties.integer("default.replication.factor", 1, least=1),
            auto_create_topics=properties.boolean("auto.create.topics.enable", True),
            coordinator_topics=CoordinatorTopics.from_properties(properties.as_dict()),
            share_sessions_max=properties.integer("group.share.max.share.sessions", 2_000, least=1),
            add_partitions_retry_backoff_ms=properties.integer("add.partitions.to.txn.retry.backoff.ms", 20, least=1),
            add_partitions_retry_max_ms=properties.integer("add.partitions.to.txn.retry.backoff.max.ms", 100, least=0),
            verifies_transactions=properties.boolean(VERIFIES_TRANSACTIONS, True),
            fetch_max_bytes=properties.integer("fetch.max.bytes", 55 << 20, least=1024),
            replica_fetch_wait_max_ms=properties.integer("replica.fetch.wait.max.ms", 500, least=1),
            replica_fetch_min_bytes=properties.integer("replica.fetch.min.bytes", 1, least=1),
            replica_fetch_max_bytes=properties.integer("replica.fetch.max.bytes", 1 << 20, least=0),
            replica_fetch_response_max_bytes=properties.integer("replica.fetch.response.max.bytes", 10 << 20, least=0),
            replica_fetch_backoff_ms=properties.integer("replica.fetch.backoff.ms", 1_000, least=1),
            replica_socket_timeout_ms=properties.integer("replica.socket.timeout.ms", 10_000, least=1),
            replica_lag_time_max_ms=properties.integer("replica.lag.time.max.ms", 10_000, least=1),
            fetch_session_slots=properties.integer("max.incremental.fetch.session.cache.slots", 1_000, least=0),
            producer_id_expiration_ms=properties.integer(PRODUCER_ID_EXPIRATION, 86_400_000, least=1),
            follower_throttled_rate=properties.integer(FOLLOWER_RATE, LONG_MAX, least=0),
            leader_throttled_rate=properties.integer(LEADER_RATE, LONG_MAX, least=0),
            retention_check_interval_ms=properties.integer("log.retention.check.interval.ms", 300_000, least=1),
            checkpoint_interval_ms=properties.integer("log.flush.offset.checkpoint.interval.ms", 60_000, least=1),
            cleaner=CleanerConfig.from_properties(properties),
            limits=limits_of(properties),
            authorizer=authorizer_config_of(properties, has_credentials=security.asks_for_credentials),
            properties=properties.as_dict(),
        )


def _check_values(properties: Properties) -> None:
    """Refuse a value that the table of broker configurations does not take, whoever reads it later."""
    for name, text in properties.as_dict().items():
        key = BROKER_CONFIGS.get(name)
        if key is None:
            continue
        try:
            key.parse(text)
        except ConfigError as error:
            raise PropertyError(str(error)) from None


def _data_dirs(text: str) -> tuple[Path, ...]:
    paths = tuple(Path(path.strip()) for path in text.split(",") if path.strip())
    if not paths:
        raise PropertyError("log.dirs names no directory")
    if len({path.absolute() for path in paths}) < len(paths):
        raise PropertyError(f"log.dirs names a directory twice: {text!r}")
    return paths


def _paths(properties: Properties, name: str) -> tuple[str, ...]:
    text = properties.optional(name) or ""
    return tuple(path.strip() for path in text.split(",") if path.strip())
