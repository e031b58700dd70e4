"""The brokers of a cluster over the admin protocol, and the steps of a plan that makes them more or fewer."""

from collections.abc import Mapping
from typing import assert_never

from millstream_operator.kafka.cluster import REQUEST_TIMEOUT_MS, Address, ClusterUnreachable, KafkaCluster, check
from millstream_operator.kafka.topics import DELETE, SET, TOPIC_RESOURCE, reassign
from millstream_operator.plan.scale import (
    Cordon,
    ElectPreferred,
    Key,
    Reassign,
    RegisteredBroker,
    Step,
    Throttle,
    Uncordon,
    Unregister,
    Unthrottle,
)
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.describe_cluster import DescribeClusterBroker, DescribeClusterRequest
from millstream_wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from millstream_wire.messages.describe_log_dirs import DescribeLogDirsRequest
from millstream_wire.messages.elect_leaders import ElectLeadersRequest
from millstream_wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream_wire.messages.unregister_broker import UnregisterBrokerRequest

BROKER_RESOURCE = 4
PREFERRED = 0
CORDONED = "cordoned.log.dirs"
ALL = "*"
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
THROTTLED = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


async def registered(cluster: KafkaCluster) -> dict[int, DescribeClusterBroker]:
    """Those that are away too."""
    answer = await cluster.request(DescribeClusterRequest(include_fenced_brokers=True))
    check(answer.error_code, answer.error_message)
    return {each.broker_id: each for each in answer.brokers}


async def described(cluster: KafkaCluster, found: Mapping[int, DescribeClusterBroker]) -> dict[int, RegisteredBroker]:
    """Whom nobody may give anything; only a broker that lives can be asked."""
    brokers = {}
    for node, each in found.items():
        is_cordoned = not each.is_fenced and await _is_cordoned(cluster, node, (each.host, each.port))
        brokers[node] = RegisteredBroker(each.rack, is_live=not each.is_fenced, is_cordoned=is_cordoned)
    return brokers


async def _is_cordoned(cluster: KafkaCluster, node: int, address: Address) -> bool:
    resource = DescribeConfigsResource(
        resource_type=BROKER_RESOURCE, resource_name=str(node), configuration_keys=[CORDONED]
    )
    answer = await cluster.request(DescribeConfigsRequest(resources=[resource]), at=address)
    [result] = answer.results
    check(result.error_code, result.error_message)
    return any(config.value == ALL for config in result.configs)


async def sizes(cluster: KafkaCluster, found: Mapping[int, DescribeClusterBroker]) -> dict[Key, int]:
    """Bytes of the largest replica of each partition, of those brokers that answer."""
    largest: dict[Key, int] = {}
    for each in found.values():
        if each.is_fenced:
            continue
        try:
            answer = await cluster.request(DescribeLogDirsRequest(topics=None), at=(each.host, each.port))
        except ClusterUnreachable:
            continue  # the plan only knows less of how much there is to move
        for directory in answer.results:
            for topic in directory.topics:
                for partition in topic.partitions:
                    key = topic.name, partition.partition_index
                    largest[key] = max(largest.get(key, 0), partition.partition_size)
    return largest


async def perform(cluster: KafkaCluster, step: Step) -> None:
    match step:
        case Cordon():
            await _configure(cluster, [_broker(step.broker, {CORDONED: ALL})])
        case Uncordon():
            await _configure(cluster, [_broker(step.broker, {CORDONED: None})])
        case Reassign():
            await reassign(cluster, step.replicas)
        case ElectPreferred():
            answer = await cluster.request(
                ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None, timeout_ms=REQUEST_TIMEOUT_MS)
            )
            check(answer.error_code)
        case Throttle():
            rate = str(step.bytes_per_second)
            brokers = [_broker(node, dict.fromkeys(RATES, rate)) for node in step.brokers]
            await _configure(
                cluster, [*brokers, *(_topic(name, dict.fromkeys(THROTTLED, ALL)) for name in step.topics)]
            )
        case Unthrottle():
            topics = [_topic(name, dict.fromkeys(THROTTLED)) for name in step.topics]
            await _configure(cluster, [*topics, *(_broker(node, dict.fromkeys(RATES)) for node in step.brokers)])
        case Unregister():
            answer = await cluster.request(UnregisterBrokerRequest(broker_id=step.broker))
            if answer.error_code != ErrorCode.BROKER_ID_NOT_REGISTERED:
                check(answer.error_code, answer.error_message)
        case _:
            assert_never(step)


async def _configure(cluster: KafkaCluster, resources: list[AlterConfigsResource]) -> None:
    answer = await cluster.request(IncrementalAlterConfigsRequest(resources=resources))
    for result in answer.responses:
        if result.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            check(result.error_code, result.error_message)


def _broker(node: int, values: Mapping[str, str | None]) -> AlterConfigsResource:
    return _resource(BROKER_RESOURCE, str(node), values)


def _topic(name: str, values: Mapping[str, str | None]) -> AlterConfigsResource:
    return _resource(TOPIC_RESOURCE, name, values)


def _resource(kind: int, name: str, values: Mapping[str, str | None]) -> AlterConfigsResource:
    configs = [
        AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
        for key, value in values.items()
    ]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
