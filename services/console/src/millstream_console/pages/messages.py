"""Messages of a topic: found, followed, shown whole, and one written."""

import asyncio
from contextlib import aclosing
from typing import Any

from aiohttp import web

from millstream_client import InvalidData, KafkaError, Refused, TopicPartition
from millstream_client.browsing import Stored, browse
from millstream_client.metadata import NO_LEADER, Topic
from millstream_console.asked import body_of, name_in, required, whole
from millstream_console.messages.follow import event, follow
from millstream_console.messages.place import PARTITIONS_MAX, Place
from millstream_console.messages.row import Wanted, row_of
from millstream_console.messages.search import Search, in_topic, lanes_of
from millstream_console.messages.sending import send
from millstream_console.pages.topics import topic_of
from millstream_console.protection import ACCESS, ACCESSES, HEADERS, SESSION_ID, now_ms
from millstream_wire.errors import ErrorCode

LIMIT = 50
LIMIT_MAX = 500
WHOLE_CHARACTERS = 1_000_000
"""Of a body that somebody asks for; what is longer can be saved as a file."""
FOLLOWERS_MAX = 20
FOLLOWERS = web.AppKey("followers", asyncio.Semaphore)
SEARCHES_MAX = 4
SEARCHES = web.AppKey("searches", asyncio.Semaphore)
"""Bodies are big: so many searches at once, and the others in turn."""


async def search_messages(request: web.Request) -> web.Response:
    asked = await body_of(request)
    access = request[ACCESS]
    topic = await topic_of(access.view, name_in(asked, "topic"))
    partitions, left_out = _partitions(topic, asked.get("partitions"))
    limit = asked.get("limit", LIMIT)
    if not isinstance(limit, int) or not 0 < limit <= LIMIT_MAX:
        raise InvalidData(f"limit must be a number up to {LIMIT_MAX}")
    place = Place.of(asked)
    async with request.app[SEARCHES]:
        bounds = await place.bounds(access.cluster, topic.name, partitions)
        lanes = lanes_of(bounds, forwards=place.forwards, limit=limit)
        found = await Search(
            in_topic(access.cluster, topic.name), lanes, Wanted.of(asked), limit, access.cluster.world.monotonic_ms
        ).run()
    if partitions and len(found.failed) == len(partitions):
        raise Refused(next(iter(found.failed.values())), subject=f"topic {topic.name}")
    return web.json_response(
        {
            "rows": found.rows,
            "scanned": found.scanned,
            "go_on": found.go_on,
            "failed": {index: code.name for index, code in found.failed.items()},
            "left_out_partitions": left_out,
            "bounds": {str(index): each for index, each in bounds.items()} if len(bounds) == 1 else None,
        }
    )


def _partitions(topic: Topic, named: Any) -> tuple[list[int], int]:
    """Those that are looked at, and how many are left out for being too many. Those without a leader cannot be read."""
    if named:
        if not isinstance(named, list) or not all(isinstance(each, int) for each in named):
            raise InvalidData("partitions must be numbers")
        if any(not 0 <= each < len(topic.partitions) for each in named):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, subject=f"topic {topic.name}")
        wanted = sorted(set(named))
        if all(topic.partitions[each].leader_id == NO_LEADER for each in wanted):
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, subject=f"topic {topic.name}")
    else:
        wanted = [each.index for each in topic.partitions]
    readable = [each for each in wanted if topic.partitions[each].leader_id != NO_LEADER]
    return readable[:PARTITIONS_MAX], len(wanted) - len(readable[:PARTITIONS_MAX])


async def follow_messages(request: web.Request) -> web.StreamResponse:
    access = request[ACCESS]
    topic = await topic_of(access.view, required(request.query, "topic"))
    text = request.query.get("partition", "")
    partitions, left_out = _partitions(topic, [whole(request.query, "partition", 0)] if text else None)
    followers = request.app[FOLLOWERS]
    if followers.locked():
        raise Refused(ErrorCode.THROTTLING_QUOTA_EXCEEDED, f"{FOLLOWERS_MAX} pages follow topics already")
    async with followers:
        response = web.StreamResponse(
            headers={**HEADERS, "Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        await response.prepare(request)
        try:
            await response.write(event({"rows": [], "left_out": 0, "left_out_partitions": left_out}))
            async with aclosing(follow(access.cluster, topic.name, partitions, Wanted.of(request.query))) as events:
                async for each in events:
                    if await request.app[ACCESSES].of(request[SESSION_ID], now_ms()) is not access:
                        await response.write(event({"error": {"message": "the session has ended: log in again"}}))
                        break
                    await response.write(event(each))
        except KafkaError as error:
            await response.write(event({"error": {"message": str(error)}}))
        except ConnectionResetError:
            pass  # whoever looked has gone
    return response


async def show_message(request: web.Request) -> web.Response:
    """One message with all that fits on a page."""
    stored = await _stored(request)
    return web.json_response(row_of(whole(request.query, "partition", 0), stored, WHOLE_CHARACTERS))


async def save_body(request: web.Request) -> web.Response:
    """The bytes of a key or a value, as a file: a browser never looks what they are."""
    stored = await _stored(request)
    part = request.query.get("part", "value")
    if part not in ("key", "value"):
        raise InvalidData("part must be key or value")
    data = stored.record.key if part == "key" else stored.record.value
    name = f"{part}-{whole(request.query, 'partition', 0)}-{stored.record.offset}.bin"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return web.Response(body=data or b"", content_type="application/octet-stream", headers=headers)


async def _stored(request: web.Request) -> Stored:
    access = request[ACCESS]
    topic = await topic_of(access.view, required(request.query, "topic"))
    partition = TopicPartition(topic.name, whole(request.query, "partition", 0))
    offset = whole(request.query, "offset", 0)
    async with request.app[SEARCHES]:
        piece = (await browse(access.cluster, {partition: offset}, partition_max_bytes=1)).get(partition)
        if piece is None:
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, subject=str(partition))
        if piece.error is not ErrorCode.NONE:
            raise Refused(piece.error, subject=f"{partition} offset {offset}")
        stored = next(piece.records(offset), None)
    if stored is None or stored.record.offset != offset:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, "there is no message at this offset", subject=str(partition))
    return stored


async def send_message(request: web.Request) -> web.Response:
    access = request[ACCESS]
    delivered = await send(access.cluster, await body_of(request))
    return web.json_response(
        {"partition": delivered.partition, "offset": delivered.offset, "timestamp": delivered.timestamp_ms}
    )
