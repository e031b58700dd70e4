"""DescribeConfigs (API key 32), versions 1 to 4, and ListConfigResources (74), versions 0 and 1, from an Image.

Every key of a resource is listed with where its value comes from; a sensitive value is never shown. A broker's or
coordinator's own properties and log levels are in the answer about itself only.
"""

from collections.abc import Mapping
from enum import IntEnum

from millstream_cluster.answers.topic_name import wrong_with_topic_name
from millstream_cluster.configs import ConfigEntry, ConfigSource, EffectiveConfigs
from millstream_cluster.image import Image
from millstream_cluster.records import ResourceType
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from millstream_wire.messages.describe_configs import (
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from millstream_wire.messages.list_config_resources import ConfigResource


class WireResourceType(IntEnum):
    """Resource types as the protocol numbers them."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


_LISTABLE = (
    WireResourceType.TOPIC,
    WireResourceType.BROKER,
    WireResourceType.BROKER_LOGGER,
    WireResourceType.CLIENT_METRICS,
    WireResourceType.GROUP,
)


@dataclass(frozen=True, slots=True)
class _Node:
    """Who answers."""

    node_id: int
    static: Mapping[str, str]
    log_levels: Mapping[str, str]


class _Refused(Exception):
    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


def describe_configs(
    image: Image,
    request: DescribeConfigsRequest,
    *,
    node_id: int,
    static: Mapping[str, str],
    log_levels: Mapping[str, str],
) -> DescribeConfigsResponse:
    """`node_id`, `static` and `log_levels` are the answering node's id, properties and loggers."""
    if any(resource.resource_type not in tuple(WireResourceType) for resource in request.resources):
        return _refusal(request)
    node = _Node(node_id, static, log_levels)
    return DescribeConfigsResponse(results=[_result(image, resource, request, node) for resource in request.resources])


def _refusal(request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    message = (
        "This most likely occurs because of a request being malformed by the client library or the message was sent "
        "to an incompatible broker. See the broker logs for more details."
    )
    results = [
        DescribeConfigsResult(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for resource in request.resources
    ]
    return DescribeConfigsResponse(results=results)


def list_config_resources(
    image: Image, request: ListConfigResourcesRequest, version: int
) -> ListConfigResourcesResponse:
    """Version 0 asks for client metrics only."""
    kinds = [WireResourceType.CLIENT_METRICS] if version == 0 else request.resource_types or list(_LISTABLE)
    if any(kind not in _LISTABLE for kind in kinds):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    brokers = sorted(str(node_id) for node_id, node in image.brokers.items() if not node.fenced)
    names: dict[WireResourceType, list[str]] = {
        WireResourceType.TOPIC: sorted(image.topics),
        WireResourceType.BROKER: brokers,
        WireResourceType.BROKER_LOGGER: brokers,
        WireResourceType.CLIENT_METRICS: sorted(image.config_names(ResourceType.CLIENT_METRICS)),
        WireResourceType.GROUP: sorted(image.config_names(ResourceType.GROUP)),
    }
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in dict.fromkeys(kinds)
            for name in names[WireResourceType(kind)]
        ]
    )


def _result(
    image: Image, resource: DescribeConfigsResource, request: DescribeConfigsRequest, node: _Node
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        error_message="", resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        found = _described(image, resource, request, node)
    except _Refused as refused:
        result.error_code, result.error_message = refused.error, refused.message
        return result
    wanted = resource.configuration_keys
    result.configs = [config for config in found if wanted is None or not wanted or config.name in wanted]
    return result


def _described(
    image: Image, resource: DescribeConfigsResource, request: DescribeConfigsRequest, node: _Node
) -> list[DescribeConfigsResourceResult]:
    if resource.resource_type == WireResourceType.BROKER_LOGGER:
        _check_node(resource.resource_name, node, f"expected {node.node_id} but")
        return [_log_level(name, level) for name, level in sorted(node.log_levels.items())]
    return [_config(entry, request) for _, entry in sorted(_entries(image, resource, node).items())]


def _entries(image: Image, resource: DescribeConfigsResource, node: _Node) -> dict[str, ConfigEntry]:
    name = resource.resource_name
    configs = EffectiveConfigs(image, node.static, node.node_id)
    match resource.resource_type:
        case WireResourceType.TOPIC:
            if (wrong := wrong_with_topic_name(name)) is not None:
                raise _Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
            if image.topic(name) is None:
                raise _Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
            return configs.topic(name)
        case WireResourceType.BROKER:
            if name == "":
                # The cluster's defaults: only what was set dynamically for all brokers.
                own = image.config(ResourceType.BROKER, "")
                entries = EffectiveConfigs(image, {}).broker()
                return {key: entry for key, entry in entries.items() if key in own}
            _check_node(name, node, f"expected {node.node_id} or empty string, but")
            return configs.broker()
        case WireResourceType.CLIENT_METRICS:
            if not name:
                raise _Refused(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
            return configs.client_metrics(name)
        case WireResourceType.GROUP:
            if not name:
                raise _Refused(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
            return configs.group(name)
        case other:
            raise AssertionError(f"resource type {other} is refused with its request")


def _check_node(name: str, node: _Node, expected: str) -> None:
    if not name:
        raise _Refused(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    if not name.removeprefix("-").isdecimal():
        raise _Refused(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if int(name) != node.node_id:
        raise _Refused(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, {expected} received {name}")


def _log_level(logger: str, level: str) -> DescribeConfigsResourceResult:
    """As Kafka, of no type, and without a word about it."""
    return DescribeConfigsResourceResult(
        name=logger,
        value=level,
        config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
        documentation="",
    )


def _config(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    key = entry.key
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=key.name,
        value=None if key.sensitive else entry.text,
        read_only=entry.read_only,
        config_source=entry.described_source,
        is_sensitive=key.sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=name, value=None if key.sensitive else text, source=source)
            for name, text, source in synonyms
        ],
        config_type=key.type,
        documentation=(key.doc or None) if request.include_documentation else None,
    )
