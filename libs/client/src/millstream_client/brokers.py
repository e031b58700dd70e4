"""Brokers: which there are, where they keep what they hold, and who of them leads."""

from collections.abc import Mapping, Sequence

from millstream_client.assignment import TopicPartition
from millstream_client.cluster import Cluster
from millstream_client.errors import check
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.describe_cluster import DescribeClusterRequest
from millstream_wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from millstream_wire.messages.elect_leaders import ElectLeadersRequest

DISKS_TIMEOUT_MS = 5_000
ELECTION_TIMEOUT_MS = 30_000
UNKNOWN = -1
_PREFERRED = 0


@dataclass(frozen=True, slots=True)
class Node:
    node_id: int
    address: str
    rack: str | None
    is_fenced: bool


@dataclass(frozen=True, slots=True)
class Directory:
    """One of a broker's data directories; `total_bytes` and `usable_bytes` are those of the disk that it is on."""

    broker: int
    path: str
    is_failed: bool
    is_cordoned: bool
    replicas: int
    used_bytes: int
    total_bytes: int
    usable_bytes: int


async def nodes_of(cluster: Cluster) -> tuple[str, int, list[Node]]:
    """The cluster's id, the controller as clients are told of it, and the brokers, those that are fenced too."""
    answer = await cluster.ask_any(DescribeClusterRequest(include_fenced_brokers=True))
    check(answer.error_code, answer.error_message)
    nodes = [Node(each.broker_id, f"{each.host}:{each.port}", each.rack, each.is_fenced) for each in answer.brokers]
    return answer.cluster_id, answer.controller_id, sorted(nodes, key=lambda each: each.node_id)


async def live_brokers(cluster: Cluster) -> list[int]:
    """Without coordinators that are processes of their own, which metadata names beside them."""
    _, _, nodes = await nodes_of(cluster)
    return [each.node_id for each in nodes if not each.is_fenced]


async def directories_of(cluster: Cluster, broker: int) -> list[Directory]:
    """Raises Unreachable if the broker does not answer."""
    answer = await cluster.ask(broker, DescribeLogDirsRequest(topics=None), timeout_ms=DISKS_TIMEOUT_MS)
    check(answer.error_code, subject=f"broker {broker}")
    return [
        Directory(
            broker=broker,
            path=each.log_dir,
            is_failed=each.error_code != ErrorCode.NONE,
            is_cordoned=each.is_cordoned,
            replicas=sum(len(topic.partitions) for topic in each.topics),
            used_bytes=sum(one.partition_size for topic in each.topics for one in topic.partitions),
            total_bytes=each.total_bytes,
            usable_bytes=each.usable_bytes,
        )
        for each in sorted(answer.results, key=lambda each: each.log_dir)
    ]


@dataclass(frozen=True, slots=True)
class Replica:
    """One copy of a partition, where it lies."""

    topic: str
    partition: int
    path: str
    size_bytes: int
    lag: int
    """In records: how far it is behind; of a future replica, behind the current one."""
    is_future: bool


async def replicas_of(
    cluster: Cluster, broker: int, partitions: Mapping[str, Sequence[int]] | None = None
) -> list[Replica]:
    """All that a broker holds, or its copies of these; without directories that have failed. Raises Unreachable."""
    wanted = None
    if partitions is not None:
        wanted = [DescribableLogDirTopic(topic=name, partitions=list(each)) for name, each in partitions.items()]
    answer = await cluster.ask(broker, DescribeLogDirsRequest(topics=wanted), timeout_ms=DISKS_TIMEOUT_MS)
    check(answer.error_code, subject=f"broker {broker}")
    return [
        Replica(
            topic.name, each.partition_index, found.log_dir, each.partition_size, each.offset_lag, each.is_future_key
        )
        for found in answer.results
        if found.error_code == ErrorCode.NONE
        for topic in found.topics
        for each in topic.partitions
    ]


async def elect_preferred(cluster: Cluster) -> list[TopicPartition]:
    """Have every partition's first replica lead; those that another led. Raises Refused if one cannot be."""
    answer = await cluster.ask_any(
        ElectLeadersRequest(election_type=_PREFERRED, topic_partitions=None, timeout_ms=ELECTION_TIMEOUT_MS)
    )
    check(answer.error_code, subject="election")
    elected = []
    for topic in answer.replica_election_results:
        for each in topic.partition_result:
            if each.error_code == ErrorCode.ELECTION_NOT_NEEDED:
                continue
            check(each.error_code, each.error_message, subject=f"{topic.topic}-{each.partition_id}")
            elected.append(TopicPartition(topic.topic, each.partition_id))
    return sorted(elected)
