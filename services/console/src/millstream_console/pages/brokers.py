"""Brokers: their directories and disks, what they lead, what is set for each."""

from dataclasses import asdict
from typing import Any

from aiohttp import web

from millstream_client.admin import Resource, ResourceType, Source, describe_settings
from millstream_client.brokers import UNKNOWN, Directory, elect_preferred
from millstream_client.metadata import NO_LEADER, Snapshot
from millstream_console.asked import required, whole
from millstream_console.pages.overview import brokers_shown
from millstream_console.pages.topics import setting_shown
from millstream_console.protection import ACCESS

ELECTED_NAMED_MAX = 100
_OWN = (Source.DYNAMIC_BROKER_CONFIG, Source.STATIC_BROKER_CONFIG)


async def list_brokers(request: web.Request) -> web.Response:
    view = request[ACCESS].view
    snapshot, members = await view.snapshot(), await view.members()
    rows = brokers_shown(members, snapshot, await view.sizes())
    directories = await view.directories()
    document = {
        "rows": [{**each, "directories": _shown(directories.get(each["node_id"], []))} for each in rows],
        "led_by_others": _led_by_others(snapshot),
    }
    return web.json_response(document)


def _shown(directories: list[Directory]) -> list[dict[str, Any]]:
    return [
        {
            **asdict(each),
            "total_bytes": None if each.total_bytes == UNKNOWN else each.total_bytes,
            "usable_bytes": None if each.usable_bytes == UNKNOWN else each.usable_bytes,
        }
        for each in directories
    ]


def _led_by_others(snapshot: Snapshot) -> int:
    """Partitions that another replica leads than the preferred one."""
    return sum(
        1
        for topic in snapshot.topics.values()
        for each in topic.partitions
        if each.replicas and each.leader_id not in (NO_LEADER, each.replicas[0])
    )


async def describe_broker(request: web.Request) -> web.Response:
    required(request.query, "broker")
    broker = whole(request.query, "broker", 0)
    cluster = request[ACCESS].cluster
    await request[ACCESS].view.snapshot()  # by which its address is known
    settings = await describe_settings(cluster, Resource(ResourceType.BROKER, str(broker)))
    return web.json_response(
        {
            "broker": broker,
            "configs": [setting_shown(each, *_OWN) for each in sorted(settings, key=lambda each: each.name)],
        }
    )


async def elect_leaders(request: web.Request) -> web.Response:
    """Preferred ones, of every partition."""
    elected = await elect_preferred(request[ACCESS].cluster)
    request[ACCESS].view.forget()
    return web.json_response(
        {"elected": len(elected), "partitions": [str(each) for each in elected[:ELECTED_NAMED_MAX]]}
    )
