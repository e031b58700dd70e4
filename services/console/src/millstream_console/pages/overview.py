"""The first page: what the cluster is made of, how much is in it, and what is not well."""

from collections import Counter
from dataclasses import asdict
from typing import Any

from aiohttp import web

from millstream_client.metadata import NO_LEADER, Snapshot
from millstream_console.protection import ACCESS
from millstream_console.view import Members, Sizes, is_thin

NAMED_MAX = 20
"""How many places a finding names; it counts the others."""


async def overview(request: web.Request) -> web.Response:
    view = request[ACCESS].view
    snapshot, members, sizes = await view.snapshot(), await view.members(), await view.sizes()
    partitions = [each for topic in snapshot.topics.values() for each in topic.partitions]
    own = [topic for topic in snapshot.topics.values() if not topic.is_internal]
    document = {
        "cluster_id": members.cluster_id,
        "brokers": brokers_shown(members, snapshot, sizes),
        "topics": len(own),
        "internal_topics": len(snapshot.topics) - len(own),
        "partitions": len(partitions),
        "replicas": sum(len(each.replicas) for each in partitions),
        "offline_partitions": sum(1 for each in partitions if each.leader_id == NO_LEADER),
        "thin_partitions": sum(1 for each in partitions if is_thin(each)),
        "stored_bytes": sum(sizes.topics.values()),
        "replicated_bytes": sum(sizes.brokers.values()),
        "findings": [
            {"what": each.what, "where": each.where[:NAMED_MAX], "count": len(each.where), "fix": each.fix}
            for each in await view.findings()
        ],
    }
    return web.json_response(document)


def brokers_shown(members: Members, snapshot: Snapshot, sizes: Sizes) -> list[dict[str, Any]]:
    partitions = [each for topic in snapshot.topics.values() for each in topic.partitions]
    led = Counter(each.leader_id for each in partitions)
    replicas = Counter(node_id for each in partitions for node_id in each.replicas)
    behind = Counter(node_id for each in partitions for node_id in {*each.replicas} - {*each.isr})
    return [
        {
            **asdict(each),
            "is_controller": each.node_id == members.controller_id,
            "is_silent": each.node_id in sizes.silent,
            "leaders": led[each.node_id],
            "replicas": replicas[each.node_id],
            "behind": behind[each.node_id],
            "bytes": sizes.brokers.get(each.node_id),
        }
        for each in members.nodes
    ]
