"""Topics: all of them in pages, and one with its settings and partitions."""

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from millstream_client import EARLIEST, LATEST, Cluster, KafkaError, Refused, TopicPartition
from millstream_client.admin import Resource, ResourceType, Setting, Source, describe_settings
from millstream_client.brokers import replicas_of
from millstream_client.metadata import NO_LEADER, Partition, Topic
from millstream_client.offsets import find_offsets
from millstream_console.asked import required
from millstream_console.paging import Paging
from millstream_console.protection import ACCESS
from millstream_console.view import Sizes, View, is_thin
from millstream_wire.errors import ErrorCode

_PATIENCE_MS = 3_000


async def list_topics(request: web.Request) -> web.Response:
    view = request[ACCESS].view
    snapshot, sizes = await view.snapshot(), await view.sizes()
    internal = request.query.get("internal") == "true"
    topics = [topic for topic in snapshot.topics.values() if internal or not topic.is_internal]
    page = Paging.of(request.query).cut(
        topics,
        {
            "topic": lambda topic: topic.name,
            "partitions": lambda topic: len(topic.partitions),
            "replicas": _factor,
            "thin": lambda topic: sum(map(is_thin, topic.partitions)),
            "bytes": lambda topic: sizes.topics.get(topic.name, 0),
        },
        lambda topic: topic.name,
    )
    return web.json_response(page.shown([_summary(topic, sizes) for topic in page.rows]))


async def describe_topic(request: web.Request) -> web.Response:
    view = request[ACCESS].view
    topic = await topic_of(view, required(request.query, "topic"))
    settings = await describe_settings(view.cluster, Resource(ResourceType.TOPIC, topic.name))
    document = {
        **_summary(topic, await view.sizes()),
        "configs": [
            setting_shown(each, Source.DYNAMIC_TOPIC_CONFIG) for each in sorted(settings, key=lambda each: each.name)
        ],
    }
    return web.json_response(document)


def setting_shown(setting: Setting, *own: Source) -> dict[str, Any]:
    """`own`: where it comes from if it is set for this very topic or broker; the others are defaults to it."""
    return {
        "name": setting.name,
        "value": None if setting.is_sensitive else setting.value,
        "is_sensitive": setting.is_sensitive,
        "is_set": setting.source in own,
        "source": setting.source.name,
        "is_read_only": setting.is_read_only,
        "documentation": setting.documentation,
    }


async def list_partitions(request: web.Request) -> web.Response:
    view = request[ACCESS].view
    topic = await topic_of(view, required(request.query, "topic"))
    page = Paging.of(request.query).cut(
        topic.partitions,
        {
            "partition": lambda each: each.index,
            "leader": lambda each: each.leader_id,
            "isr": lambda each: len(each.isr) - len(each.replicas),
        },
        lambda each: str(each.index),
    )
    indexes = [each.index for each in page.rows if each.leader_id != NO_LEADER]
    bounds = await bounds_of(view.cluster, topic.name, indexes)
    sizes = await _sizes_of(view, topic.name, page.rows)
    return web.json_response(page.shown([_partition_shown(each, bounds, sizes) for each in page.rows]))


async def topic_of(view: View, name: str) -> Topic:
    topic = (await view.snapshot()).topics.get(name)
    if topic is None:  # it may be new, or not ours to see: the cluster says which
        snapshot = await view.cluster.describe([name])
        topic = snapshot.topics.get(name)
        if topic is None:
            raise Refused(snapshot.errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), subject=f"topic {name}")
    return topic


async def bounds_of(cluster: Cluster, name: str, indexes: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Where partitions begin and end, as far as their leaders say so now; whoever may not read them is not told."""
    wanted = [TopicPartition(name, index) for index in indexes]
    try:
        firsts = await find_offsets(cluster, dict.fromkeys(wanted, EARLIEST), timeout_ms=_PATIENCE_MS)
        ends = await find_offsets(cluster, dict.fromkeys(wanted, LATEST), timeout_ms=_PATIENCE_MS)
    except KafkaError:
        return {}
    return {each.partition: (firsts[each], ends[each]) for each in wanted}


async def _sizes_of(view: View, name: str, partitions: Sequence[Partition]) -> dict[int, int]:
    """Of the leaders' copies; without those that did not say."""
    by_leader: dict[int, list[int]] = {}
    for each in partitions:
        if each.leader_id != NO_LEADER:
            by_leader.setdefault(each.leader_id, []).append(each.index)
    found = {}
    for leader_id, indexes in by_leader.items():
        try:
            replicas = await replicas_of(view.cluster, leader_id, {name: indexes})
        except KafkaError:
            continue
        found.update({each.partition: each.size_bytes for each in replicas if not each.is_future})
    return found


def _summary(topic: Topic, sizes: Sizes) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "topic_id": str(topic.topic_id),
        "is_internal": topic.is_internal,
        "partitions": len(topic.partitions),
        "replicas": _factor(topic),
        "thin": sum(map(is_thin, topic.partitions)),
        "offline": sum(1 for each in topic.partitions if each.leader_id == NO_LEADER),
        "bytes": sizes.topics.get(topic.name),
    }


def _factor(topic: Topic) -> int:
    return max((len(each.replicas) for each in topic.partitions), default=0)


def _partition_shown(partition: Partition, bounds: dict[int, tuple[int, int]], sizes: dict[int, int]) -> dict[str, Any]:
    first, end = bounds.get(partition.index, (None, None))
    return {
        "partition": partition.index,
        "leader": partition.leader_id if partition.leader_id != NO_LEADER else None,
        "leader_epoch": partition.leader_epoch,
        "replicas": partition.replicas,
        "isr": partition.isr,
        "first_offset": first,
        "end_offset": end,
        "bytes": sizes.get(partition.index),
    }
