"""Broker configuration keys: defaults for topics, the coordinator's and controller's settings, and a process's own.

A table, nothing else. Keys of one process (`READ_ONLY`) are set in its properties; the others may also be changed by
IncrementalAlterConfigs for all brokers, or for one where that makes sense.
"""

from millstream_cluster.configs.authorization import AUTHORIZATION_CONFIGS
from millstream_cluster.configs.key import (
    INT_MAX,
    LONG_MAX,
    Check,
    ConfigKey,
    ConfigType,
    UpdateMode,
    Value,
    at_least,
    between,
    one_of,
    some_of,
)
from millstream_cluster.configs.logins import LOGIN_CONFIGS
from millstream_cluster.configs.tls import TLS_CONFIGS
from millstream_cluster.configs.topic import TOPIC_CONFIGS
from millstream_cluster.quotas.addresses import numbers_of
from millstream_cluster.records import ResourceType

_B, _S, _I, _L, _D, _LIST = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.DOUBLE,
    ConfigType.LIST,
)


def _static(name: str, kind: ConfigType, default: str | None, doc: str, check: Check | None = None) -> ConfigKey:
    return ConfigKey(
        name, kind, default, doc, check, update_mode=UpdateMode.READ_ONLY, resource_type=ResourceType.BROKER
    )


def _dynamic(name: str, kind: ConfigType, default: str | None, doc: str, check: Check | None = None) -> ConfigKey:
    return ConfigKey(name, kind, default, doc, check, resource_type=ResourceType.BROKER)


def _numbers_by_address(value: Value) -> str | None:
    try:
        numbers_of(str(value))
    except ValueError as error:
        return str(error)
    return None


_OWN = (
    _static("process.roles", _LIST, "broker", "The roles this process plays.", some_of("broker", "controller", "coordinator")),
    _static("node.id", _I, "0", "The node's number; each role derives its own id from it.", between(0, 9_999)),
    _static("broker.id", _I, "-1", "Kafka's older name for the broker's id."),
    _static("broker.rack", _S, None, "The failure domain the node is in, for placement and closest-replica fetching."),
    _static("listeners", _LIST, "PLAINTEXT://:9092", "Where the node takes connections."),
    _static("advertised.listeners", _LIST, None, "The addresses clients are told; unset, those of listeners."),
    _static("inter.broker.listener.name", _S, None, "The listener where other nodes come in, and clients only as clients; unset, nodes and clients share all of them."),
    _static("controller.bootstrap.servers", _LIST, None, "Addresses of all controllers; the active one is found by asking."),
    _static("controller.store", _S, None, "Where the metadata log lives: file:DIR or kubernetes:NAMESPACE/NAME. Millstream's own."),
    _static("controller.takeover.timeout.ms", _I, "3000", "How long a standby controller waits for the active one before it tries to take over. Millstream's own.", at_least(100)),
    _static("controller.verify.timeout.ms", _I, "4000", "How long the active controller is believed after its metadata store last proved that no other was elected; without a newer proof it answers nobody. Millstream's own.", at_least(1)),
    _static("cluster.id", _S, None, "The cluster this node belongs to; a data directory or a controller of another one is refused. Millstream's own."),
    _static("log.dirs", _LIST, None, "The directories of the data, of which one may fail while the others go on."),
    _static("log.dir", _LIST, "/tmp/millstream", "The directories of the data where log.dirs is unset."),
    _dynamic("cordoned.log.dirs", _LIST, "", "Directories of the broker that get no new replicas; *: all of them. What is there stays, and is moved by a reassignment (KIP-1066)."),
    _static("http.host", _S, "0.0.0.0", "The address of /healthz, /readyz and /metrics. Millstream's own."),
    _static("http.port", _I, "9095", "The port of /healthz, /readyz and /metrics. Millstream's own.", between(0, 65_535)),
    _static("broker.heartbeat.interval.ms", _I, "500", "How often a node tells the controller that it is alive.", at_least(1)),
    _static("broker.session.timeout.ms", _I, "3000", "How long a silent node counts as alive.", at_least(1)),
    _dynamic("broker.replacement.timeout.ms", _L, "600000", "How long a broker, or one of its directories, may be away before the replicas there are made again elsewhere; 0 or -1: they never are by themselves. Millstream's own.", at_least(-1)),
    _dynamic("broker.replacement.partitions.max", _I, "32", "For how many partitions at a time that is done. Millstream's own.", at_least(1)),
    _static("auto.leader.rebalance.enable", _B, "true", "Whether preferred leaders lead again some time after they are in sync again."),
    _static("leader.imbalance.check.interval.seconds", _L, "300", "How often it is looked for partitions that are led by another than their preferred leader.", at_least(1)),
    _static("socket.request.max.bytes", _I, str(100 << 20), "The largest request that is read.", at_least(1)),
    _static("socket.send.buffer.bytes", _I, "262144", "The socket's send buffer; -1 leaves it to the system, which adapts it to the connection."),
    _static("socket.receive.buffer.bytes", _I, "-1", "The socket's receive buffer; -1 leaves it to the system, which adapts it to the connection."),
    _static("socket.listen.backlog.size", _I, "1024", "How many connections may wait to be accepted.", at_least(1)),
    _dynamic("max.connections", _I, str(2**31 - 1), "How many connections the broker keeps at a time; others wait until there is room, but for those of other nodes on a listener of their own. `listener.name.<listener>.max.connections` is one listener's.", at_least(0)),
    _dynamic("max.connections.per.ip", _I, str(2**31 - 1), "How many of them may come from one address; others are closed at once.", at_least(0)),
    _dynamic("max.connections.per.ip.overrides", _S, "", "For these addresses another number than max.connections.per.ip: address:number,...", _numbers_by_address),
    _dynamic("max.connection.creation.rate", _I, str(2**31 - 1), "How many connections the broker takes in a second; others wait. `listener.name.<listener>.max.connection.creation.rate` is one listener's.", at_least(0)),
    _static("connections.max.idle.ms", _L, "600000", "How long an idle client connection is kept."),
    _static("queued.max.requests", _I, "100", "How many requests of one connection may wait before no more of it are read.", at_least(1)),
    _static("request.timeout.ms", _I, "30000", "How long nodes wait for one another's answers.", at_least(1)),
    _static("num.partitions", _I, "1", "Partitions of a topic that is created without a count.", at_least(1)),
    _static("default.replication.factor", _I, "1", "Replicas of a topic that is created without a count.", at_least(1)),
    _static("auto.create.topics.enable", _B, "true", "Whether asking for a topic that does not exist creates it."),
    _static("delete.topic.enable", _B, "true", "Whether topics can be deleted."),
    _static("fetch.max.bytes", _I, str(55 << 20), "The most bytes one fetch is answered with.", at_least(1024)),
    _static("max.incremental.fetch.session.cache.slots", _I, "1000", "How many fetch sessions are remembered.", at_least(0)),
    _static("offsets.topic.num.partitions", _I, "50", "Partitions of __consumer_offsets, fixed when it is created.", at_least(1)),
    _static("offsets.topic.replication.factor", ConfigType.SHORT, "3", "Replicas of __consumer_offsets; where it is not set, fewer if fewer brokers are there when it is created. Set, creation waits for as many brokers.", at_least(1)),
    _static("offsets.topic.segment.bytes", _I, str(100 << 20), "Segment size of __consumer_offsets; small, so that it loads fast.", at_least(1)),
    _static("offsets.load.buffer.size", _I, str(5 << 20), "How much is read at a time when a shard loads.", at_least(1)),
    _static("offsets.retention.minutes", _I, "10080", "How long an empty group's offsets are kept.", at_least(1)),
    _static("offsets.retention.check.interval.ms", _L, "600000", "How often expired offsets are looked for.", at_least(1)),
    _static("offsets.commit.timeout.ms", _I, "5000", "How long a commit may wait for the log before its client is told to try again.", at_least(1)),
    _static("offset.metadata.max.bytes", _I, "4096", "The longest metadata a committed offset may carry."),
    _static("group.min.session.timeout.ms", _I, "6000", "The shortest session timeout a member may ask for."),
    _static("group.max.session.timeout.ms", _I, "1800000", "The longest session timeout a member may ask for."),
    _static("group.initial.rebalance.delay.ms", _I, "3000", "How long a new group waits for more members before its first rebalance."),
    _static("group.max.size", _I, str(INT_MAX), "The most members a group may have.", at_least(1)),
    _static("group.consumer.session.timeout.ms", _I, "45000", "Session timeout of consumer-protocol groups.", at_least(1)),
    _static("group.consumer.heartbeat.interval.ms", _I, "5000", "Heartbeat interval of consumer-protocol groups.", at_least(1)),
    _static("group.consumer.assignment.interval.ms", _I, "1000", "Shortest time between assignments of consumer-protocol groups.", at_least(0)),
    _static("group.share.session.timeout.ms", _I, "45000", "Session timeout of share groups.", at_least(1)),
    _static("group.share.min.session.timeout.ms", _I, "45000", "The least that a share group may set as share.session.timeout.ms.", at_least(1)),
    _static("group.share.max.session.timeout.ms", _I, "60000", "The most that a share group may set as share.session.timeout.ms.", at_least(1)),
    _static("group.share.heartbeat.interval.ms", _I, "5000", "Heartbeat interval of share groups.", at_least(1)),
    _static("group.share.min.heartbeat.interval.ms", _I, "5000", "The least that a share group may set as share.heartbeat.interval.ms.", at_least(1)),
    _static("group.share.max.heartbeat.interval.ms", _I, "15000", "The most that a share group may set as share.heartbeat.interval.ms.", at_least(1)),
    _static("group.share.assignment.interval.ms", _I, "1000", "Shortest time between assignments of share groups.", at_least(0)),
    _static("group.share.min.assignment.interval.ms", _I, "0", "The least that a share group may set as share.assignment.interval.ms.", at_least(0)),
    _static("group.share.max.assignment.interval.ms", _I, "15000", "The most that a share group may set as share.assignment.interval.ms.", at_least(0)),
    _static("group.share.record.lock.duration.ms", _I, "30000", "How long a member of a share group has for the records that it was given, before others get them.", at_least(1)),
    _static("group.share.min.record.lock.duration.ms", _I, "15000", "The least that a share group may set as share.record.lock.duration.ms.", at_least(1)),
    _static("group.share.max.record.lock.duration.ms", _I, "60000", "The most that a share group may set as share.record.lock.duration.ms.", at_least(1)),
    _static("group.share.delivery.count.limit", _I, "5", "How often a record is delivered to a share group before it is given up.", at_least(1)),
    _static("group.share.min.delivery.count.limit", _I, "2", "The least that a share group may set as share.delivery.count.limit.", at_least(1)),
    _static("group.share.max.delivery.count.limit", _I, "10", "The most that a share group may set as share.delivery.count.limit.", at_least(1)),
    _static("group.share.partition.max.record.locks", _I, "2000", "How many records of a partition a share group may have under way.", at_least(1)),
    _static("group.share.min.partition.max.record.locks", _I, "100", "The least that a share group may set as share.partition.max.record.locks.", at_least(1)),
    _static("group.share.max.partition.max.record.locks", _I, "4000", "The most that a share group may set as share.partition.max.record.locks.", at_least(1)),
    _static("group.share.max.size", _I, "200", "The most members a share group may have.", at_least(1)),
    _static("group.share.max.share.sessions", _I, "2000", "How many members of share groups may fetch from a broker at a time.", at_least(1)),
    _static("transaction.state.log.num.partitions", _I, "50", "Partitions of __transaction_state, fixed when it is created.", at_least(1)),
    _static("transaction.state.log.replication.factor", ConfigType.SHORT, "3", "Replicas of __transaction_state; where it is not set, fewer if fewer brokers are there when it is created. Set, creation waits for as many brokers.", at_least(1)),
    _static("transaction.state.log.min.isr", _I, "2", "min.insync.replicas of __transaction_state, but never more than its replicas.", at_least(1)),
    _static("transaction.state.log.segment.bytes", _I, str(100 << 20), "Segment size of __transaction_state; small, so that it loads fast.", at_least(1)),
    _static("share.coordinator.state.topic.num.partitions", _I, "50", "Partitions of __share_group_state, fixed when it is created.", at_least(1)),
    _static("share.coordinator.state.topic.replication.factor", ConfigType.SHORT, "3", "Replicas of __share_group_state; where it is not set, fewer if fewer brokers are there when it is created. Set, creation waits for as many brokers.", at_least(1)),
    _static("share.coordinator.state.topic.min.isr", ConfigType.SHORT, "2", "min.insync.replicas of __share_group_state, but never more than its replicas.", at_least(1)),
    _static("share.coordinator.state.topic.segment.bytes", _I, str(100 << 20), "Segment size of __share_group_state; small, so that it loads fast.", at_least(1)),
    _static("transaction.abort.timed.out.transaction.cleanup.interval.ms", _I, "10000", "How often transactions that took too long are looked for.", at_least(1)),
    _dynamic("transaction.partition.verification.enable", _B, "true", "Whether a transaction's first batch in a partition is taken only after its coordinator confirmed that it is registered."),
    _static("group.consumer.migration.policy", _S, "bidirectional", "Which way a group with members may go from one protocol to the other: to the consumer protocol (upgrade), back (downgrade), both (bidirectional) or neither (disabled).", one_of("bidirectional", "upgrade", "downgrade", "disabled")),
    _static("group.consumer.max.size", _I, str(INT_MAX), "The most members a consumer-protocol group may have.", at_least(1)),
    _static("add.partitions.to.txn.retry.backoff.ms", _I, "20", "How long a broker waits before it adds a partition again to a transaction whose predecessor is still being ended.", at_least(1)),
    _static("add.partitions.to.txn.retry.backoff.max.ms", _I, "100", "How long a broker goes on trying that before the producer is told to.", at_least(0)),
    _static("transactional.id.expiration.ms", _I, "604800000", "How long an unused transactional id is remembered; -1 for ever.", at_least(-1)),
    _static("transaction.remove.expired.transaction.cleanup.interval.ms", _I, "3600000", "How often unused transactional ids are looked for.", at_least(1)),
    _static("transaction.max.timeout.ms", _I, "900000", "The longest transaction timeout a producer may ask for.", at_least(1)),
    _dynamic("producer.id.expiration.ms", _I, "86400000", "How long an idle producer's sequence numbers are remembered.", at_least(1)),
    _static("quota.window.num", _I, "11", "How many windows a client's rate is taken over.", at_least(2)),
    _static("quota.window.size.seconds", _I, "1", "How long one of these windows is.", at_least(1)),
    _static("controller.quota.window.num", _I, "11", "How many windows' worth of controller_mutation_rate a client may use at once.", at_least(2)),
    _static("controller.quota.window.size.seconds", _I, "1", "How long one of these windows is.", at_least(1)),
    _static("log.retention.check.interval.ms", _L, "300000", "How often retention is looked at.", at_least(1)),
    _static("log.cleaner.enable", _B, "true", "Whether logs whose policy says so are compacted."),
    _dynamic("log.cleaner.backoff.ms", _L, "15000", "How long the cleaner sleeps when no log is worth cleaning.", at_least(1)),
    _dynamic("log.cleaner.dedupe.buffer.size", _L, str(128 << 20), "The memory that the keys of one cleaning may take, only while it runs; a log with more keys is cleaned part by part.", at_least(1 << 20)),
    _dynamic("log.cleaner.io.max.bytes.per.second", _D, "1.7976931348623157E308", "The most bytes a second that the cleaner reads and writes.", at_least(1)),
    _static("log.flush.offset.checkpoint.interval.ms", _I, "60000", "How often recovery points are written.", at_least(0)),
    _static("log.flush.start.offset.checkpoint.interval.ms", _I, "60000", "How often log start offsets are written.", at_least(0)),
    _dynamic("leader.replication.throttled.rate", _L, str(LONG_MAX), "The bytes a second that a leader sends to followers that its topics name in leader.replication.throttled.replicas, all together.", at_least(0)),
    _dynamic("follower.replication.throttled.rate", _L, str(LONG_MAX), "The bytes a second that a broker copies for the replicas that topics name in follower.replication.throttled.replicas, all together.", at_least(0)),
    _dynamic("replica.alter.log.dirs.io.max.bytes.per.second", _L, str(LONG_MAX), "The bytes a second with which a broker moves replicas from one of its directories to another; kafka-reassign-partitions sets it.", at_least(1)),
    _static("replica.lag.time.max.ms", _L, "10000", "How long a follower may lag before it leaves the ISR.", at_least(1)),
    _static("replica.fetch.wait.max.ms", _I, "500", "How long a leader holds a follower's request in which there is nothing new.", at_least(1)),
    _static("replica.fetch.min.bytes", _I, "1", "How much a leader waits for, up to that time, before it answers a follower.", at_least(1)),
    _static("replica.fetch.max.bytes", _I, str(1 << 20), "The most bytes of one partition in an answer to a follower; a larger batch still comes, on its own.", at_least(0)),
    _static("replica.fetch.response.max.bytes", _I, str(10 << 20), "The most bytes of all partitions in an answer to a follower.", at_least(0)),
    _static("replica.fetch.backoff.ms", _I, "1000", "The longest a follower waits before it asks again where a leader did not answer well; the first waits are shorter.", at_least(1)),
    _static("replica.socket.timeout.ms", _I, "10000", "How long a leader may be late with its answer to a follower before the connection is given up.", at_least(1)),
    _static("replica.selector.class", _S, None, "Where consumers read that say their rack (client.rack): by RackAwareReplicaSelector from a follower in sync in that rack, by LeaderSelector or unset from leaders (KIP-392).", one_of("org.apache.kafka.common.replica.LeaderSelector", "org.apache.kafka.common.replica.RackAwareReplicaSelector")),
    _static("num.replica.fetchers", _I, "1", "Without effect: one fetcher for each leader, with a second connection for partitions that turn up while it waits.", at_least(1)),
)  # fmt: skip

_TOPIC_DEFAULTS_ELSEWHERE = (
    _static("log.retention.minutes", _I, None, "log.retention.ms in minutes, where that is unset."),
    _static("log.retention.hours", _I, "168", "log.retention.ms in hours, where neither it nor minutes is set."),
    _static("log.roll.hours", _I, "168", "log.roll.ms in hours, where that is unset.", at_least(1)),
    _static("log.roll.jitter.hours", _I, "0", "log.roll.jitter.ms in hours, where that is unset.", at_least(0)),
    _dynamic("log.retention.ms", _L, None, "Default of the topic setting retention.ms.", at_least(-1)),
    _dynamic("log.roll.ms", _L, None, "Default of the topic setting segment.ms.", at_least(1)),
    _dynamic("log.roll.jitter.ms", _L, None, "Default of the topic setting segment.jitter.ms.", at_least(0)),
    _dynamic("log.flush.interval.ms", _L, None, "Default of the topic setting flush.ms.", at_least(0)),
    _static("log.flush.scheduler.interval.ms", _L, str(LONG_MAX), "How often logs are looked at for flushing by age."),
    _dynamic("log.message.timestamp.type", _S, "CreateTime", "Default of the topic setting message.timestamp.type.", one_of("CreateTime", "LogAppendTime")),
    _dynamic("log.cleaner.min.cleanable.ratio", _D, "0.5", "Default of the topic setting min.cleanable.dirty.ratio.", between(0, 1)),
)  # fmt: skip


def _topic_defaults(known: set[str]) -> list[ConfigKey]:
    """The broker keys that are nothing but a topic key's default, derived from the topic's row."""
    derived = []
    for topic_key in TOPIC_CONFIGS.values():
        for synonym in topic_key.synonyms:
            if synonym.name not in known:
                doc = f"Default of the topic setting {topic_key.name}."
                derived.append(_dynamic(synonym.name, topic_key.type, topic_key.default, doc, topic_key.check))
    return derived


def _table() -> dict[str, ConfigKey]:
    explicit = (*_OWN, *AUTHORIZATION_CONFIGS, *TLS_CONFIGS, *LOGIN_CONFIGS, *_TOPIC_DEFAULTS_ELSEWHERE)
    keys = [*explicit, *_topic_defaults({key.name for key in explicit})]
    return {key.name: key for key in sorted(keys, key=lambda key: key.name)}


BROKER_CONFIGS = _table()
