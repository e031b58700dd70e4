"""Kafka's server settings that nothing here reads: what a server says to a file of Kafka's own.

Those that only tune how Kafka does something are passed over and named in one line. Those that would have another system come out
(a policy's class, tiered storage) are not among them: they are refused like any key that is not known.
"""

PASSED_OVER = frozenset(
    [
        "alter.log.dirs.replication.quota.window.num",
        "alter.log.dirs.replication.quota.window.size.seconds",
        "background.threads",
        "controlled.shutdown.enable",
        "controller.socket.timeout.ms",
        "controller.quorum.append.linger.ms",
        "controller.quorum.election.backoff.max.ms",
        "controller.quorum.election.timeout.ms",
        "controller.quorum.fetch.max.bytes",
        "controller.quorum.fetch.snapshot.max.bytes",
        "controller.quorum.fetch.timeout.ms",
        "controller.quorum.request.timeout.ms",
        "controller.quorum.retry.backoff.ms",
        "delete.records.purgatory.purge.interval.requests",
        "fetch.purgatory.purge.interval.requests",
        "producer.purgatory.purge.interval.requests",
        "share.fetch.purgatory.purge.interval.requests",
        "follower.fetch.last.tiered.offset.enable",
        "group.coordinator.append.linger.ms",
        "group.coordinator.background.threads",
        "group.coordinator.cached.buffer.max.bytes",
        "group.coordinator.threads",
        "initial.broker.registration.timeout.ms",
        "kafka.metrics.polling.interval.secs",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.threads",
        "metadata.log.dir",
        "metadata.log.max.record.bytes.between.snapshots",
        "metadata.log.max.snapshot.interval.ms",
        "metadata.log.segment.bytes",
        "metadata.log.segment.ms",
        "metadata.max.idle.interval.ms",
        "metadata.max.retention.bytes",
        "metadata.max.retention.ms",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.alter.log.dirs.threads",
        "replica.high.watermark.checkpoint.interval.ms",
        "replica.socket.receive.buffer.bytes",
        "replication.quota.window.num",
        "replication.quota.window.size.seconds",
        "share.coordinator.append.linger.ms",
        "share.coordinator.cached.buffer.max.bytes",
        "share.coordinator.load.buffer.size",
        "share.coordinator.threads",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "ssl.keymanager.algorithm",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "transaction.state.log.load.buffer.size",
    ]
)

INSTEAD = dict.fromkeys(
    ("controller.quorum.auto.join.enable", "controller.quorum.bootstrap.servers", "controller.quorum.voters"),
    "there is no quorum: leave it out, and process.roles too for one process that is all of it; "
    "controllers on their own are named by controller.bootstrap.servers and share a controller.store",
)
"""What a file of Kafka's says that has to be said otherwise here."""
