"""What happened to a topic, a group, a broker or the cluster, and why: the newest first."""

import asyncio

from aiohttp import web

from millstream_client import Cluster, InvalidData
from millstream_client.history import NoHistory
from millstream_client.story import Story, story_of_broker, story_of_cluster, story_of_group, story_of_topic
from millstream_cluster.history import grouped
from millstream_console.asked import required, whole
from millstream_console.pages.topics import topic_of
from millstream_console.protection import ACCESS

EVENTS_MAX = 500
SINCE_DEFAULT_MS = 24 * 3_600_000
TELLING_MAX = 1
TELLING = web.AppKey("telling", asyncio.Semaphore)
"""All that the controller has kept is read for each story: one at a time."""


async def tell(request: web.Request) -> web.Response:
    """`about`: topic, group, broker or cluster; `name`: which one; `since_ms`: how long back from now."""
    access = request[ACCESS]
    about = required(request.query, "about")
    name = required(request.query, "name") if about != "cluster" else ""
    since_ms = access.cluster.world.now_ms() - whole(request.query, "since_ms", SINCE_DEFAULT_MS)
    try:
        async with request.app[TELLING]:
            story = await _story(access.cluster, about, name, since_ms)
    except NoHistory as error:
        return web.json_response({"rows": [], "total": 0, "kept_since_ms": None, "reason": str(error)})
    if about == "topic" and not story.events:
        await topic_of(access.view, name)  # says so if there is none
    rows = grouped(story.events)[::-1]
    return web.json_response(
        {
            "rows": [
                {"time_ms": each.time_ms, "about": each.about, "what": each.what, "why": each.why}
                for each in rows[:EVENTS_MAX]
            ],
            "total": len(rows),
            "kept_since_ms": story.kept_since_ms
            if story.kept_since_ms is not None and story.kept_since_ms > since_ms
            else None,
            "reason": None,
        }
    )


async def _story(cluster: Cluster, about: str, name: str, since_ms: int) -> Story:
    match about:
        case "topic":
            return await story_of_topic(cluster, name, since_ms)
        case "group":
            return await story_of_group(cluster, name, since_ms)
        case "broker":
            return await story_of_broker(cluster, whole({"name": name}, "name", 0), since_ms)
        case "cluster":
            return await story_of_cluster(cluster, since_ms)
    raise InvalidData(f"about must be topic, group, broker or cluster, not {about[:50]!r}")
