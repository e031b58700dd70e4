"""What the broker counts for Prometheus beside what its server does: partitions, sizes, bytes appended and fetched."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_runtime.exposition import Family, Kind, counter, gauge

if TYPE_CHECKING:
    from millstream_broker.shell.share.groups import ShareGroups


class BrokerMetrics:
    """Plain integers, turned into samples when somebody asks."""

    def __init__(self, node_id: int, partitions: HostedPartitions, share_groups: "Callable[[], ShareGroups]") -> None:
        self._broker = str(node_id)
        self._partitions = partitions
        self._share_groups = share_groups
        self.appended_bytes = 0
        self.fetched_bytes = 0
        self.replicated_bytes = 0
        self.appended_batches = 0
        self.isr_shrinks = 0
        self.isr_expands = 0

    def collect(self) -> Iterable[Family]:
        partitions = list(self._partitions)
        leads = sum(replica.partition.leads for replica in partitions)
        size = sum(replica.log.size for replica in partitions)
        broker = self._broker
        yield gauge("millstream_partitions", "Partitions with a log on this broker.", len(partitions), broker=broker)
        yield gauge("millstream_leader_partitions", "Partitions this broker leads.", leads, broker=broker)
        yield gauge("millstream_log_size_bytes", "Bytes in the logs of this broker.", size, broker=broker)
        appended, batches, fetched = self.appended_bytes, self.appended_batches, self.fetched_bytes
        yield counter("millstream_appended_bytes", "Bytes of record batches appended.", appended, broker=broker)
        yield counter("millstream_appended_batches", "Record batches appended.", batches, broker=broker)
        yield counter("millstream_fetched_bytes", "Bytes of record batches fetched.", fetched, broker=broker)
        replicated = self.replicated_bytes
        yield counter("millstream_replicated_bytes", "Bytes copied from leaders.", replicated, broker=broker)
        directories = self._partitions.directories
        yield gauge(
            "millstream_log_directories",
            "Directories of the data that can be used.",
            len(directories.online),
            broker=broker,
        )
        yield gauge(
            "millstream_offline_log_directories",
            "Directories of the data that failed; what is in them is served by other brokers, or by nobody.",
            len(directories.offline),
            broker=broker,
        )
        yield from self._collect_replication(partitions)
        yield from self._collect_shares()

    def _collect_replication(self, hosted: Iterable[HostedPartition]) -> Iterable[Family]:
        """Of what is led here; a partition with one replica is never under-replicated, and always at its least."""
        broker = self._broker
        led = [each.partition for each in hosted if each.partition.leads]
        short = sum(len(partition.isr) < len(partition.replicas) for partition in led)
        under = sum(len(partition.isr) < partition.min_insync_replicas for partition in led)
        at_least = sum(len(partition.isr) == partition.min_insync_replicas for partition in led)
        yield gauge(
            "millstream_under_replicated_partitions",
            "Partitions led here of which not all replicas are in sync.",
            short,
            broker=broker,
        )
        yield gauge(
            "millstream_under_min_isr_partitions",
            "Partitions led here with fewer replicas in sync than min.insync.replicas: acks=all is refused.",
            under,
            broker=broker,
        )
        yield gauge(
            "millstream_at_min_isr_partitions",
            "Partitions led here that can lose no replica without refusing acks=all.",
            at_least,
            broker=broker,
        )
        shrinks, expands = self.isr_shrinks, self.isr_expands
        yield counter("millstream_isr_shrinks", "Replicas left an ISR because they lagged.", shrinks, broker=broker)
        yield counter("millstream_isr_expands", "Replicas that had caught up joined an ISR.", expands, broker=broker)

    def _collect_shares(self) -> Iterable[Family]:
        groups, broker = self._share_groups(), self._broker
        shares = groups.partitions
        yield gauge(
            "millstream_share_sessions", "Members of share groups that fetch here.", len(groups.sessions), broker=broker
        )
        yield gauge("millstream_share_partitions", "Shares of partitions in memory.", len(shares), broker=broker)
        given, late = shares.acquired_records, shares.expired_records
        yield counter(
            "millstream_share_acquired_records", "Records given to members of share groups.", given, broker=broker
        )
        yield counter("millstream_share_expired_records", "Records that they had for too long.", late, broker=broker)
        said = Family(Kind.COUNTER, "millstream_share_acknowledged_records", "Records by what members said of them.")
        for kind, count in shares.acknowledged.items():
            said.add(count, broker=broker, type=kind.name.lower())
        yield said
