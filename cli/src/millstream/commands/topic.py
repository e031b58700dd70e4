"""`millstream topic`: list, create, describe, alter, delete; moves of replicas are in `topic_moves.py`."""

from argparse import Namespace
from typing import Any

from millstream.commands.connection import cluster_of
from millstream.commands.existing import existing_topic
from millstream.commands.output import print_json, print_table, tell
from millstream.commands.pairs import parse_pairs
from millstream_client import EARLIEST, LATEST, Cluster, Refused, TopicPartition
from millstream_client.admin import (
    Resource,
    ResourceType,
    Source,
    create_topic,
    delete_topics,
    describe_settings,
    grow_topic,
)
from millstream_client.cluster import Backoff
from millstream_client.metadata import NO_LEADER, Topic
from millstream_client.offsets import find_offsets
from millstream_wire.errors import ErrorCode

_VISIBLE_TIMEOUT_MS = 15_000


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        match options.action:
            case "list":
                await _list(cluster, options)
            case "create":
                await _create(cluster, options)
            case "describe":
                await _describe(cluster, options)
            case "alter":
                await grow_topic(cluster, options.topic, options.partitions)
                tell(options, f"topic {options.topic} has {options.partitions} partitions", topic=options.topic)
            case "reassign" | "moves":
                from millstream.commands.topic_moves import work_on_moves  # what a list need not wait for

                await work_on_moves(cluster, options)
            case _:
                await _delete(cluster, options)


async def _list(cluster: Cluster, options: Namespace) -> None:
    snapshot = await cluster.describe()
    topics = [topic for _, topic in sorted(snapshot.topics.items()) if options.internal or not topic.is_internal]
    if options.json:
        print_json([_summary(topic) for topic in topics])
        return
    columns = (
        ("TOPIC", ">PARTITIONS", ">REPLICAS", "INTERNAL") if options.internal else ("TOPIC", ">PARTITIONS", ">REPLICAS")
    )
    rows = [
        [topic.name, len(topic.partitions), _replicas(topic), "yes" if topic.is_internal else ""] for topic in topics
    ]
    print_table(columns, [row[: len(columns)] for row in rows])


async def _create(cluster: Cluster, options: Namespace) -> None:
    try:
        await create_topic(
            cluster,
            options.topic,
            partitions=options.partitions,
            replication_factor=options.replication_factor,
            configs=parse_pairs(options.config),
        )
    except Refused as error:
        if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS or not options.if_not_exists:
            raise
        tell(options, f"topic {options.topic} exists", topic=options.topic, created=False)
        return
    topic = await _wait_until_visible(cluster, options.topic)
    tell(options, f"created topic {topic.name}, partitions: {len(topic.partitions)}", **_summary(topic), created=True)


async def _wait_until_visible(cluster: Cluster, name: str) -> Topic:
    """Brokers learn of a topic a moment after it is made; whoever runs the next command should find it."""
    deadline_ms = cluster.world.monotonic_ms() + _VISIBLE_TIMEOUT_MS
    backoff = Backoff()
    while True:
        snapshot = await cluster.describe([name])
        topic = snapshot.topics.get(name)
        if topic is not None and all(each.leader_id != NO_LEADER for each in topic.partitions):
            return topic
        if cluster.world.monotonic_ms() > deadline_ms:
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, "it was created", subject=f"topic {name}")
        await backoff.wait()


async def _describe(cluster: Cluster, options: Namespace) -> None:
    topic = await existing_topic(cluster, options.topic)
    available = [TopicPartition(topic.name, index) for index in topic.available]
    firsts = await find_offsets(cluster, dict.fromkeys(available, EARLIEST))
    ends = await find_offsets(cluster, dict.fromkeys(available, LATEST))
    settings = await describe_settings(cluster, Resource(ResourceType.TOPIC, topic.name))
    changed = {each.name: each.value for each in settings if each.source is Source.DYNAMIC_TOPIC_CONFIG}
    partitions: list[dict[str, Any]] = [
        {
            "partition": each.index,
            "leader": each.leader_id if each.leader_id != NO_LEADER else None,
            "leader_epoch": each.leader_epoch,
            "replicas": list(each.replicas),
            "isr": list(each.isr),
            "first_offset": firsts.get(TopicPartition(topic.name, each.index)),
            "end_offset": ends.get(TopicPartition(topic.name, each.index)),
        }
        for each in topic.partitions
    ]
    if options.json:
        print_json({**_summary(topic), "partitions": partitions, "configs": changed})
        return
    print(f"topic {topic.name}  id {topic.topic_id}")
    print("settings  " + (", ".join(f"{name}={value}" for name, value in changed.items()) or "none of its own") + "\n")
    columns = (">PARTITION", ">LEADER", ">EPOCH", "REPLICAS", "ISR", ">FIRST", ">END")
    print_table(columns, [[_cell(value) for value in each.values()] for each in partitions])


async def _delete(cluster: Cluster, options: Namespace) -> None:
    deleted = []
    for name in options.topics:
        try:
            await delete_topics(cluster, [name])
            deleted.append(name)
        except Refused as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or not options.if_exists:
                raise
    tell(options, f"deleted {', '.join(deleted) or 'nothing'}", deleted=deleted)


def _summary(topic: Topic) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "topic_id": str(topic.topic_id),
        "partitions": len(topic.partitions),
        "replicas": _replicas(topic),
        "internal": topic.is_internal,
    }


def _replicas(topic: Topic) -> int:
    return max((len(each.replicas) for each in topic.partitions), default=0)


def _cell(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, list) else value
