"""Groups of all kinds: in pages, and one with its members, its lag now and over time."""

from typing import Any

from aiohttp import web

from millstream_client import TopicPartition
from millstream_client.groups import Group, Lag, ListedGroup, delete_group, describe_group, lags_of
from millstream_console.asked import body_of, name_in, required
from millstream_console.groups.history import Sums
from millstream_console.groups.resets import move_of
from millstream_console.groups.watch import LagWatch
from millstream_console.pages.topics import topic_of
from millstream_console.paging import Paging
from millstream_console.protection import ACCESS

MEMBERS_MAX = 500
LAGS_MAX = 1_000
"""Of partitions that a page shows, those that are furthest behind."""


async def list_all_groups(request: web.Request) -> web.Response:
    watch = request[ACCESS].watch
    kind = request.query.get("type", "")
    groups = [each for each in await watch.groups() if kind in ("", each.type)]
    page = Paging.of(request.query).cut(
        groups,
        {
            "group": lambda each: each.group_id,
            "type": lambda each: each.type,
            "state": lambda each: each.state,
            "lag": lambda each: _total(watch, each.group_id) or 0,
        },
        lambda each: each.group_id,
    )
    return web.json_response(page.shown([_summary(watch, each) for each in page.rows]))


async def describe_one_group(request: web.Request) -> web.Response:
    access = request[ACCESS]
    group = await describe_group(access.cluster, required(request.query, "group"))
    access.watch.want(group.group_id)
    lags = await lags_of(access.cluster, group)
    return web.json_response(_shown(group, lags))


async def lag_history(request: web.Request) -> web.Response:
    """By time: lag, and how much was read and written since the group began, by whose growth a page draws its rates."""
    watch, group_id = request[ACCESS].watch, required(request.query, "group")
    watch.want(group_id)
    points = [[time_ms, each.lag, each.committed, each.end] for time_ms, each in watch.history.of(group_id)]
    return web.json_response({"points": points})


async def readers_of_topic(request: web.Request) -> web.Response:
    """Which groups have committed in a topic, and how far they are behind."""
    access = request[ACCESS]
    topic = await topic_of(access.view, required(request.query, "topic"))
    states = {each.group_id: each for each in await access.watch.groups()}
    rows = []
    for group_id, lags in access.watch.latest.items():
        here = [each for each in lags if each.topic == topic.name]
        if here and group_id in states:
            rows.append({**_summary(access.watch, states[group_id]), "lag": Sums.of(here).lag, "partitions": len(here)})
    page = Paging.of(request.query).cut(
        rows, {"group": lambda each: each["group"], "lag": lambda each: each["lag"]}, lambda each: str(each["group"])
    )
    return web.json_response(page.shown(page.rows))


async def reset_group(request: web.Request) -> web.Response:
    """With `execute` false nothing is changed: what would happen is the answer."""
    asked = await body_of(request)
    topic = name_in(asked, "topic") if asked.get("topic") else None
    answer = await request[ACCESS].resets.reset(
        name_in(asked, "group"), move_of(asked), topic, execute=asked.get("execute") is True
    )
    return web.json_response(answer)


async def undo_reset(request: web.Request) -> web.Response:
    asked = await body_of(request)
    answer = await request[ACCESS].resets.undo(name_in(asked, "group"), execute=asked.get("execute") is True)
    return web.json_response(answer)


async def delete_one_group(request: web.Request) -> web.Response:
    access = request[ACCESS]
    group_id = name_in(await body_of(request), "group")
    await delete_group(access.cluster, group_id)
    access.watch.forget()
    return web.json_response({"group": group_id})


def _summary(watch: LagWatch, group: ListedGroup) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "protocol": group.protocol_type,
        "coordinator": group.coordinator,
        "lag": _total(watch, group.group_id),
        "topics": len({each.topic for each in watch.latest.get(group.group_id, ())}),
    }


def _total(watch: LagWatch, group_id: str) -> int | None:
    lags = watch.latest.get(group_id)
    return Sums.of(lags).lag if lags else None


def _shown(group: Group, lags: list[Lag]) -> dict[str, Any]:
    owners = {partition: member for member in group.members for partition in member.partitions}
    furthest = sorted(lags, key=lambda each: (-(each.lag or 0), each.topic, each.partition))[:LAGS_MAX]
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "assignor": group.assignor,
        "coordinator": group.coordinator,
        "is_empty": group.is_empty,
        "lag": Sums.of(lags).lag if any(each.committed is not None for each in lags) else None,
        "members_total": len(group.members),
        "members": [
            {
                "member": each.member_id,
                "instance": each.instance_id,
                "client": each.client_id,
                "host": each.host,
                "partitions": [f"{one.topic}-{one.partition}" for one in each.partitions[:100]],
                "partitions_total": len(each.partitions),
            }
            for each in group.members[:MEMBERS_MAX]
        ],
        "partitions_total": len(lags),
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "committed": each.committed,
                "end": each.end,
                "lag": each.lag,
                "client": owner.client_id
                if (owner := owners.get(TopicPartition(each.topic, each.partition)))
                else None,
            }
            for each in sorted(furthest, key=lambda each: (each.topic, each.partition))
        ],
    }
