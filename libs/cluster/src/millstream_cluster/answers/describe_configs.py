"""DescribeConfigs (API key 32), versions 1 to 4, and ListConfigResources (74), versions 0 and 1, from an Image.

Every key of a resource is listed with where its value comes from; a sensitive value is never shown. `configs` resolves as
the answering node does, so a broker's or coordinator's own properties are in the answer about itself only.
"""

from collections.abc import Mapping
from enum import IntEnum

from millstream_cluster.answers.topic_name import is_valid_topic_name
from millstream_cluster.configs import ConfigEntry, EffectiveConfigs
from millstream_cluster.image import Image
from millstream_cluster.records import ResourceType
from millstream_wire.errors import ErrorCode
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


def describe_configs(
    image: Image, request: DescribeConfigsRequest, *, node_id: int, static: Mapping[str, str]
) -> DescribeConfigsResponse:
    """`node_id` and `static` are the answering node's id and properties."""
    return DescribeConfigsResponse(
        results=[_result(image, resource, request, node_id, static) for resource in request.resources]
    )


def list_config_resources(
    image: Image, request: ListConfigResourcesRequest, version: int
) -> ListConfigResourcesResponse:
    """Version 0 lists client metrics only, of which there are none."""
    if version == 0:
        return ListConfigResourcesResponse()
    kinds = request.resource_types or list(_LISTABLE)
    if any(kind not in _LISTABLE for kind in kinds):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    brokers = sorted(str(node_id) for node_id, node in image.brokers.items() if not node.fenced)
    names: dict[WireResourceType, list[str]] = {
        WireResourceType.TOPIC: sorted(image.topics),
        WireResourceType.BROKER: brokers,
        WireResourceType.BROKER_LOGGER: brokers,
        WireResourceType.CLIENT_METRICS: [],
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
    image: Image,
    resource: DescribeConfigsResource,
    request: DescribeConfigsRequest,
    node_id: int,
    static: Mapping[str, str],
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(resource_type=resource.resource_type, resource_name=resource.resource_name)
    found = _entries(image, resource, node_id, static)
    if isinstance(found, tuple):
        result.error_code, result.error_message = found
        return result
    wanted = resource.configuration_keys
    result.configs = [
        _config(entry, request)
        for name, entry in sorted(found.items())
        if wanted is None or not wanted or name in wanted
    ]
    return result


def _entries(
    image: Image, resource: DescribeConfigsResource, node_id: int, static: Mapping[str, str]
) -> dict[str, ConfigEntry] | tuple[ErrorCode, str]:
    """The resource's entries, or why there are none."""
    name = resource.resource_name
    match resource.resource_type:
        case WireResourceType.TOPIC:
            if not is_valid_topic_name(name):
                return ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name!r} is not a valid topic name"
            if image.topic(name) is None:
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name}"
            return EffectiveConfigs(image, static, node_id).topic(name)
        case WireResourceType.BROKER:
            if name == "":
                # The cluster's defaults: only what was set dynamically for all brokers.
                own = image.config(ResourceType.BROKER, "")
                entries = EffectiveConfigs(image, {}).broker()
                return {key: entry for key, entry in entries.items() if key in own}
            if name != str(node_id):
                return ErrorCode.INVALID_REQUEST, f"Node {node_id} cannot answer for broker {name}"
            return EffectiveConfigs(image, static, node_id).broker()
        case WireResourceType.BROKER_LOGGER | WireResourceType.CLIENT_METRICS:
            return {}
        case WireResourceType.GROUP:
            if not name:
                return ErrorCode.INVALID_REQUEST, "A group's name is missing"
            return EffectiveConfigs(image, static, node_id).group(name)
        case other:
            return ErrorCode.INVALID_REQUEST, f"There are no configurations of resource type {other}"


def _config(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    key = entry.key
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=key.name,
        value=None if key.sensitive else entry.text,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=key.sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=name, value=None if key.sensitive else text, source=source)
            for name, text, source in synonyms
        ],
        config_type=key.type,
        documentation=key.doc if request.include_documentation else None,
    )
