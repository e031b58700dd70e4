"""`millstream broker`: list, disks, leaders, cordon and uncordon, drain."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict

from millstream.commands.cluster import brokers_shown, print_brokers
from millstream.commands.connection import cluster_of
from millstream.commands.output import print_json, print_table, tell
from millstream.commands.topic_moves import carry_out
from millstream_client import Cluster, InvalidData, TopicPartition
from millstream_client.admin import Resource, ResourceType, alter_settings
from millstream_client.brokers import UNKNOWN, Directory, directories_of, elect_preferred, live_brokers, nodes_of
from millstream_client.metadata import NO_LEADER
from millstream_client.reassignment import drained

_CORDONED = "cordoned.log.dirs"
_ALL_DIRECTORIES = "*"


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        match options.action:
            case "list":
                await _list(cluster, options)
            case "disks":
                await _disks(cluster, options)
            case "leaders":
                await _leaders(cluster, options)
            case "cordon":
                await _cordon(cluster, options.broker)
                tell(options, f"broker {options.broker} gets no new replicas", broker=options.broker, cordoned=True)
            case "uncordon":
                await _known(cluster, options.broker)
                await alter_settings(cluster, _resource(options.broker), deleted=[_CORDONED])
                tell(options, f"broker {options.broker} gets new replicas again", broker=options.broker, cordoned=False)
            case _:
                await _drain(cluster, options)


async def _list(cluster: Cluster, options: Namespace) -> None:
    _, _, nodes = await nodes_of(cluster)
    snapshot = await cluster.describe()
    if options.json:
        print_json(brokers_shown(nodes, snapshot))
    else:
        print_brokers(nodes, snapshot)


async def _disks(cluster: Cluster, options: Namespace) -> None:
    directories = await _directories(cluster)
    if options.json:
        print_json([asdict(each) for each in directories])
        return
    columns = (">BROKER", "DIRECTORY", "STATE", ">REPLICAS", ">BYTES", ">DISK", ">FREE")
    print_table(
        columns,
        [
            [each.broker, each.path, _state(each), each.replicas, each.used_bytes]
            + [None if size == UNKNOWN else size for size in (each.total_bytes, each.usable_bytes)]
            for each in directories
        ],
    )


def _state(directory: Directory) -> str:
    if directory.is_failed:
        return "failed"
    return "cordoned" if directory.is_cordoned else "online"


async def _directories(cluster: Cluster) -> list[Directory]:
    await cluster.describe([])
    return [each for broker in await live_brokers(cluster) for each in await directories_of(cluster, broker)]


async def _leaders(cluster: Cluster, options: Namespace) -> None:
    snapshot = await cluster.describe()
    others = [
        {"topic": topic.name, "partition": each.index, "leader": each.leader_id, "preferred": each.replicas[0]}
        for _, topic in sorted(snapshot.topics.items())
        for each in topic.partitions
        if each.leader_id not in (NO_LEADER, each.replicas[0])
    ]
    if options.execute:
        elected = await elect_preferred(cluster)
        tell(options, f"elected {_named(elected) or 'none'}", elected=[list(each) for each in elected])
    elif options.json:
        print_json(others)
    elif others:
        print_table(("TOPIC", ">PARTITION", ">LEADER", ">PREFERRED"), [list(each.values()) for each in others])
        print("\nnothing was changed: --execute does it")
    else:
        print("every partition is led by its preferred leader")


def _named(partitions: Sequence[TopicPartition]) -> str:
    return ", ".join(map(str, partitions))


async def _cordon(cluster: Cluster, broker: int) -> None:
    await _known(cluster, broker)
    await alter_settings(cluster, _resource(broker), changed={_CORDONED: _ALL_DIRECTORIES})


async def _known(cluster: Cluster, broker: int) -> None:
    """A setting may be given to a broker that there is not (yet)."""
    _, _, nodes = await nodes_of(cluster)
    if broker not in {each.node_id for each in nodes}:
        raise InvalidData(f"there is no broker {broker}")


def _resource(broker: int) -> Resource:
    return Resource(ResourceType.BROKER, str(broker))


async def _drain(cluster: Cluster, options: Namespace) -> None:
    await _known(cluster, options.broker)
    closed = {each.broker for each in await _directories(cluster) if each.is_cordoned}
    snapshot = await cluster.describe()
    now = {
        TopicPartition(topic.name, each.index): each.replicas
        for topic in snapshot.topics.values()
        for each in topic.partitions
    }
    planned = drained(
        now, options.broker, [each for each in await live_brokers(cluster) if each not in closed], snapshot.racks
    )
    if options.execute:
        await _cordon(cluster, options.broker)
    await carry_out(cluster, options, now, planned)
