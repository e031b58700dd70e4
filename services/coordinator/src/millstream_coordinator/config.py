"""What one coordinator is told at its start: Kafka's properties, read and checked once."""

from collections.abc import Mapping
from dataclasses import field

from millstream_cluster.configs import ConfigError
from millstream_cluster.coordinator_topics import CoordinatorTopics
from millstream_cluster.ids import COORDINATOR_ID_BASE, NodeId, Role, node_id_of
from millstream_cluster.records import Endpoint
from millstream_coordinator.core.consumer.limits import ConsumerLimits, MigrationPolicy
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.share.limits import ShareLimits
from millstream_coordinator.core.transactions.limits import TransactionLimits
from millstream_runtime.network.links import Limits
from millstream_runtime.nodes.audit_topic import audit_topic_of
from millstream_runtime.properties import Properties, PropertyError
from millstream_runtime.serving.authorization import authorizer_config_of
from millstream_runtime.serving.listeners import limits_of, listeners_of
from millstream_runtime.serving.security import PLAIN_SECURITY, TOKEN_SECRET, Security, nodes_first, security_of
from millstream_security.authorization.authorizer import AuthorizerConfig
from millstream_wire.late_dataclass import dataclass

DEFAULT_LISTENER = "PLAINTEXT"
DEFAULT_PORT = 9094
FOR_EVER = -1


@dataclass(frozen=True, slots=True)
class CoordinatorConfig:
    node_id: NodeId
    """10000 + node.id: coordinators have a range of their own."""
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
    cluster_id: str | None = None
    """cluster.id: refuse any other cluster; unset, whatever the controller says."""
    heartbeat_interval_ms: int = 500
    """broker.heartbeat.interval.ms"""
    session_timeout_ms: int = 3_000
    """broker.session.timeout.ms"""
    request_timeout_ms: int = 30_000
    """request.timeout.ms: how long another node may take to answer."""
    groups: GroupLimits = field(default_factory=GroupLimits)
    """group.initial.rebalance.delay.ms, group.min.session.timeout.ms, group.max.session.timeout.ms, group.max.size, group.consumer.*,
    group.share.*"""
    offset_metadata_max_bytes: int = 4_096
    """offset.metadata.max.bytes: the longest note a client may put beside an offset."""
    offsets_retention_ms: int = 7 * 24 * 3_600_000
    """offsets.retention.minutes: how long an empty group's offsets are kept."""
    offsets_retention_check_interval_ms: int = 600_000
    """offsets.retention.check.interval.ms"""
    offsets_commit_timeout_ms: int = 5_000
    """offsets.commit.timeout.ms: how long a commit may wait for the log before its client is told to try again."""
    coordinator_topics: CoordinatorTopics = field(default_factory=CoordinatorTopics)
    """offsets.topic.*, transaction.state.log.*, share.coordinator.state.topic.*: what the topics are created with."""
    offsets_load_buffer_bytes: int = 5 << 20
    """offsets.load.buffer.size: how much of a shard is read at a time."""
    transactions: TransactionLimits = field(default_factory=TransactionLimits)
    """transaction.max.timeout.ms, transaction.abort.timed.out.transaction.cleanup.interval.ms,
    transactional.id.expiration.ms, transaction.remove.expired.transaction.cleanup.interval.ms"""
    limits: Limits = field(default_factory=Limits)
    authorizer: AuthorizerConfig | None = None
    """authorizer.class.name, super.users, allow.everyone.if.no.acl.found; None: everybody may do everything."""
    audit_topic: str | None = None
    """millstream.audit.topic"""
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Every property of the process, for DescribeConfigs."""

    @staticmethod
    def from_properties(properties: Properties) -> "CoordinatorConfig":
        listeners, advertised = listeners_of(properties, f"{DEFAULT_LISTENER}://127.0.0.1:{DEFAULT_PORT}")
        listeners, nodes_listener = nodes_first(properties, listeners)
        security = security_of(properties, listeners, nodes_listener)
        number = properties.integer("node.id", 0, least=0, most=COORDINATOR_ID_BASE - 1)
        retention_minutes = properties.integer("offsets.retention.minutes", 10_080, least=1)
        return CoordinatorConfig(
            node_id=node_id_of(Role.COORDINATOR, number),
            controllers=properties.addresses("controller.bootstrap.servers"),
            listeners=listeners,
            advertised_listeners=advertised,
            nodes_listener=nodes_listener,
            security=security,
            token_secret=properties.optional(TOKEN_SECRET),
            audit_topic=audit_topic_of(properties),
            rack=properties.optional("broker.rack"),
            cluster_id=properties.optional("cluster.id"),
            heartbeat_interval_ms=properties.integer("broker.heartbeat.interval.ms", 500, least=1),
            session_timeout_ms=properties.integer("broker.session.timeout.ms", 3_000, least=1),
            request_timeout_ms=properties.integer("request.timeout.ms", 30_000, least=1),
            groups=_group_limits(properties),
            offset_metadata_max_bytes=properties.integer("offset.metadata.max.bytes", 4_096, least=0),
            offsets_retention_ms=retention_minutes * 60_000,
            offsets_retention_check_interval_ms=properties.integer(
                "offsets.retention.check.interval.ms", 600_000, least=1
            ),
            offsets_commit_timeout_ms=properties.integer("offsets.commit.timeout.ms", 5_000, least=1),
            coordinator_topics=_topics(properties),
            offsets_load_buffer_bytes=properties.integer("offsets.load.buffer.size", 5 << 20, least=1),
            transactions=_transaction_limits(properties),
            limits=limits_of(properties),
            authorizer=authorizer_config_of(properties, has_credentials=security.asks_for_credentials),
            properties=properties.as_dict(),
        )


def _group_limits(properties: Properties) -> GroupLimits:
    consumer = ConsumerLimits(
        session_timeout_ms=properties.integer("group.consumer.session.timeout.ms", 45_000, least=1),
        heartbeat_interval_ms=properties.integer("group.consumer.heartbeat.interval.ms", 5_000, least=1),
        assignment_interval_ms=properties.integer("group.consumer.assignment.interval.ms", 1_000, least=0),
        size_max=properties.integer("group.consumer.max.size", 2**31 - 1, least=1),
        migration=_migration_policy(properties),
    )
    if consumer.heartbeat_interval_ms >= consumer.session_timeout_ms:
        raise PropertyError("group.consumer.heartbeat.interval.ms must be less than group.consumer.session.timeout.ms")
    limits = GroupLimits(
        initial_rebalance_delay_ms=properties.integer("group.initial.rebalance.delay.ms", 3_000, least=0),
        session_timeout_min_ms=properties.integer("group.min.session.timeout.ms", 6_000, least=1),
        session_timeout_max_ms=properties.integer("group.max.session.timeout.ms", 1_800_000, least=1),
        size_max=properties.integer("group.max.size", 2**31 - 1, least=1),
        consumer=consumer,
        share=_share_limits(properties),
    )
    if limits.session_timeout_min_ms > limits.session_timeout_max_ms:
        raise PropertyError("group.min.session.timeout.ms must not be more than group.max.session.timeout.ms")
    return limits


def _share_limits(properties: Properties) -> ShareLimits:
    share = ShareLimits(
        session_timeout_ms=properties.integer("group.share.session.timeout.ms", 45_000, least=1),
        heartbeat_interval_ms=properties.integer("group.share.heartbeat.interval.ms", 5_000, least=1),
        assignment_interval_ms=properties.integer("group.share.assignment.interval.ms", 1_000, least=0),
        size_max=properties.integer("group.share.max.size", 200, least=1, most=1_000),
    )
    if share.heartbeat_interval_ms >= share.session_timeout_ms:
        raise PropertyError("group.share.heartbeat.interval.ms must be less than group.share.session.timeout.ms")
    return share


def _migration_policy(properties: Properties) -> MigrationPolicy:
    key = "group.consumer.migration.policy"
    text = (properties.optional(key) or MigrationPolicy.BIDIRECTIONAL).lower()
    if text not in set(MigrationPolicy):
        raise PropertyError(f"{key} must be one of {', '.join(MigrationPolicy)}, not {text!r}")
    return MigrationPolicy(text)


def _transaction_limits(properties: Properties) -> TransactionLimits:
    expiration_ms = properties.integer("transactional.id.expiration.ms", 604_800_000, least=FOR_EVER)
    if expiration_ms == 0:
        raise PropertyError("transactional.id.expiration.ms must be a time, or -1 for ever")
    return TransactionLimits(
        timeout_max_ms=properties.integer("transaction.max.timeout.ms", 900_000, least=1),
        add_partitions_retry_backoff_ms=properties.integer("add.partitions.to.txn.retry.backoff.ms", 20, least=1),
        add_partitions_retry_max_ms=properties.integer("add.partitions.to.txn.retry.backoff.max.ms", 100, least=0),
        timeout_check_interval_ms=properties.integer(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms", 10_000, least=1
        ),
        id_expiration_ms=None if expiration_ms == FOR_EVER else expiration_ms,
        id_expiration_check_interval_ms=properties.integer(
            "transaction.remove.expired.transaction.cleanup.interval.ms", 3_600_000, least=1
        ),
    )


def _topics(properties: Properties) -> CoordinatorTopics:
    try:
        return CoordinatorTopics.from_properties(properties.as_dict())
    except ConfigError as error:
        raise PropertyError(str(error)) from None
