"""Topics and settings: create, delete, grow, describe, change. Each answer's errors are raised, the first one of several."""

from collections.abc import Mapping, Sequence
from enum import IntEnum

from millstream_client.cluster import Cluster
from millstream_client.errors import check
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from millstream_wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from millstream_wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from millstream_wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TIMEOUT_MS = 30_000
AS_THE_BROKER_SAYS = -1


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    GROUP = 32


class Source(IntEnum):
    """Where a setting's value comes from."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8

    @property
    def is_set(self) -> bool:
        """Whether somebody has set it on this very resource."""
        return self in (
            Source.DYNAMIC_TOPIC_CONFIG,
            Source.DYNAMIC_BROKER_CONFIG,
            Source.DYNAMIC_DEFAULT_BROKER_CONFIG,
            Source.STATIC_BROKER_CONFIG,
            Source.DYNAMIC_GROUP_CONFIG,
        )


class _Operation(IntEnum):
    SET = 0
    DELETE = 1


@dataclass(frozen=True, slots=True)
class Resource:
    """What has settings: a topic, a broker (an empty name: the default of all brokers), a group."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name.lower()} {self.name or '(default)'}"

    @property
    def broker_id(self) -> int | None:
        """Only a broker itself knows all of its settings."""
        return int(self.name) if self.type is ResourceType.BROKER and self.name else None


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    value: str | None
    source: Source
    is_read_only: bool
    is_sensitive: bool
    documentation: str | None


async def create_topic(
    cluster: Cluster,
    name: str,
    *,
    partitions: int = AS_THE_BROKER_SAYS,
    replication_factor: int = AS_THE_BROKER_SAYS,
    configs: Mapping[str, str] | None = None,
) -> None:
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
    )
    answer = await cluster.ask_any(CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS))
    for each in answer.topics:
        check(each.error_code, each.error_message, subject=f"topic {each.name}")


async def delete_topics(cluster: Cluster, names: Sequence[str]) -> None:
    states = [DeleteTopicState(name=name) for name in names]
    answer = await cluster.ask_any(DeleteTopicsRequest(topics=states, topic_names=list(names), timeout_ms=TIMEOUT_MS))
    for name in names:
        cluster.forget(name)
    for each in answer.responses:
        check(each.error_code, each.error_message, subject=f"topic {each.name}")


async def grow_topic(cluster: Cluster, name: str, partitions: int) -> None:
    """Give a topic more partitions; keys hash to other ones from then on."""
    topic = CreatePartitionsTopic(name=name, count=partitions, assignments=None)
    answer = await cluster.ask_any(CreatePartitionsRequest(topics=[topic], timeout_ms=TIMEOUT_MS))
    cluster.forget(name)
    for each in answer.results:
        check(each.error_code, each.error_message, subject=f"topic {each.name}")


async def describe_settings(cluster: Cluster, resource: Resource) -> list[Setting]:
    asked = DescribeConfigsResource(resource_type=resource.type, resource_name=resource.name, configuration_keys=None)
    request = DescribeConfigsRequest(resources=[asked], include_documentation=True)
    if resource.broker_id is not None:
        await cluster.describe([])
        answer = await cluster.ask(resource.broker_id, request)
    else:
        answer = await cluster.ask_any(request)
    result = answer.results[0]
    check(result.error_code, result.error_message, subject=str(resource))
    return sorted((_setting_of(each) for each in result.configs), key=lambda setting: setting.name)


async def describe_all_settings(cluster: Cluster, resources: Sequence[Resource]) -> dict[Resource, dict[str, Setting]]:
    """Of many at once; those that are gone by now are left out. Not of single brokers, of which each knows its own."""
    if not resources:
        return {}
    asked = [
        DescribeConfigsResource(resource_type=each.type, resource_name=each.name, configuration_keys=None)
        for each in resources
    ]
    answer = await cluster.ask_any(DescribeConfigsRequest(resources=asked))
    return {
        Resource(ResourceType(each.resource_type), each.resource_name): {
            setting.name: _setting_of(setting) for setting in each.configs
        }
        for each in answer.results
        if each.error_code == ErrorCode.NONE
    }


async def alter_settings(
    cluster: Cluster, resource: Resource, *, changed: Mapping[str, str] | None = None, deleted: Sequence[str] = ()
) -> None:
    """Set some, put others back to their default, leave the rest alone."""
    operations = [
        AlterableConfig(name=name, config_operation=_Operation.SET, value=value)
        for name, value in (changed or {}).items()
    ]
    operations += [AlterableConfig(name=name, config_operation=_Operation.DELETE, value=None) for name in deleted]
    asked = AlterConfigsResource(resource_type=resource.type, resource_name=resource.name, configs=operations)
    answer = await cluster.ask_any(IncrementalAlterConfigsRequest(resources=[asked]))
    for each in answer.responses:
        check(each.error_code, each.error_message, subject=str(resource))


def _setting_of(answer: DescribeConfigsResourceResult) -> Setting:
    known = answer.config_source in Source.__members__.values()
    return Setting(
        name=answer.name,
        value=answer.value,
        source=Source(answer.config_source) if known else Source.UNKNOWN,
        is_read_only=answer.read_only,
        is_sensitive=answer.is_sensitive,
        documentation=answer.documentation,
    )
