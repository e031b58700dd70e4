"""`millstream group`: list, describe, lag, reset, undo, forget, delete; classic, consumer and share groups."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from millstream.commands.command import Unwell
from millstream.commands.connection import cluster_of
from millstream.commands.output import print_json, print_table, tell
from millstream.commands.resets import forget_reset, remember_reset, remembered_reset
from millstream.commands.starts import parse_start
from millstream_client import Cluster, InvalidData, TopicPartition
from millstream_client.groups import Lag, delete_group, describe_group, lags_of, list_groups
from millstream_client.offsets import partitions_of
from millstream_client.resets import committed_by, group_or_none, move_to, planned, refuse_members
from millstream_cluster.offset_resets import gone_on


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        match options.action:
            case "list":
                await _list(cluster, options)
            case "describe":
                await _describe(cluster, options)
            case "lag":
                await _lag(cluster, options)
            case "reset":
                await _reset(cluster, options)
            case "undo":
                await _undo(cluster, options)
            case "forget":
                forgotten = await partitions_of(cluster, [options.topic])
                group = await describe_group(cluster, options.group)
                await move_to(cluster, group, options.group, dict.fromkeys(forgotten))
                tell(options, f"group {options.group} has no offsets of {options.topic}", group=options.group)
            case _:
                for each in options.groups:
                    await delete_group(cluster, each)
                tell(options, f"deleted {', '.join(options.groups)}", deleted=options.groups)


async def _list(cluster: Cluster, options: Namespace) -> None:
    groups = [
        each
        for each in await list_groups(cluster)
        if options.type in (None, each.type) and (options.state is None or options.state.lower() == each.state.lower())
    ]
    if options.json:
        print_json([asdict(each) for each in groups])
        return
    columns = ("GROUP", "TYPE", "STATE", "PROTOCOL", ">COORDINATOR")
    print_table(
        columns, [[each.group_id, each.type, each.state, each.protocol_type, each.coordinator] for each in groups]
    )


async def _describe(cluster: Cluster, options: Namespace) -> None:
    group = await describe_group(cluster, options.group)
    lags = await lags_of(cluster, group)
    if options.json:
        members = [{**asdict(each), "partitions": [list(one) for one in each.partitions]} for each in group.members]
        print_json(
            {**asdict(group), "members": members, "lag": _total(lags), "partitions": [asdict(each) for each in lags]}
        )
        return
    print(f"group {group.group_id}  type {group.type}  state {group.state}  coordinator {group.coordinator}")
    print(f"assignor {group.assignor or '-'}  members {len(group.members)}  lag {_shown(_total(lags))}\n")
    if group.members:
        columns = ("MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS")
        print_table(
            columns,
            [
                [each.member_id, each.instance_id, each.client_id, each.host, " ".join(map(str, each.partitions))]
                for each in group.members
            ],
        )
        print()
    _print_lags(lags)


async def _lag(cluster: Cluster, options: Namespace) -> None:
    lags = await lags_of(cluster, await describe_group(cluster, options.group))
    total = _total(lags)
    if options.json:
        print_json({"group": options.group, "lag": total, "partitions": [asdict(each) for each in lags]})
    else:
        _print_lags(lags)
        print(f"\nlag of group {options.group}: {_shown(total)}")
    if options.max is not None and (total is None or total > options.max):
        raise Unwell


def _total(lags: Sequence[Lag]) -> int | None:
    """None where nothing was committed at all."""
    known = [each.lag for each in lags if each.lag is not None]
    return sum(known) if known else None


def _shown(lag: int | None) -> str:
    return "unknown" if lag is None else str(lag)


def _print_lags(lags: Sequence[Lag]) -> None:
    columns = ("TOPIC", ">PARTITION", ">COMMITTED", ">END", ">LAG")
    print_table(
        columns, [[each.topic, each.partition, *map(_cell, (each.committed, each.end, each.lag))] for each in lags]
    )


def _cell(value: int | None) -> str:
    return "-" if value is None else str(value)


# ---- other offsets ----


async def _reset(cluster: Cluster, options: Namespace) -> None:
    move = parse_start(options.to, "--to", cluster.world.now_ms()).move
    group = await group_or_none(cluster, options.group)
    now = await committed_by(cluster, group)
    wanted = await _chosen(cluster, options, now)
    if not wanted:
        raise InvalidData(f"group {options.group} has committed nothing: name a --topic")
    target = await planned(cluster, move, wanted, now)
    before = {each: now.get(each) for each in wanted}
    if options.execute:
        refuse_members(group)
    _print_plan(options, before, target)
    if options.execute:
        await move_to(cluster, group, options.group, target)
        cluster_id = (await cluster.describe([])).cluster_id or ""
        remember_reset(cluster_id, options.group, before, target)


async def _undo(cluster: Cluster, options: Namespace) -> None:
    cluster_id = (await cluster.describe([])).cluster_id or ""
    before, target = remembered_reset(cluster_id, options.group)
    group = await group_or_none(cluster, options.group)
    now = await committed_by(cluster, group)
    moved = [str(each) for each in gone_on(target, now)]
    if moved:
        raise InvalidData(
            f"group {options.group} has gone on since the reset in {', '.join(moved)}: use reset --to with what you want"
        )
    if options.execute:
        refuse_members(group)
    _print_plan(options, now, before)
    if options.execute:
        await move_to(cluster, group, options.group, before)
        forget_reset(cluster_id, options.group)


async def _chosen(
    cluster: Cluster, options: Namespace, now: Mapping[TopicPartition, int | None]
) -> list[TopicPartition]:
    if options.all_topics:
        return sorted(each for each, committed in now.items() if committed is not None)
    chosen = []
    for text in options.topic:
        name, colon, indexes = text.partition(":")
        everything = await partitions_of(cluster, [name])
        if colon and not all(each.isdecimal() for each in indexes.split(",")):
            raise InvalidData(f"TOPIC or TOPIC:0,1,... expected, not {text!r}")
        named = {int(each) for each in indexes.split(",")} if colon else {each.partition for each in everything}
        unknown = named - {each.partition for each in everything}
        if unknown:
            raise InvalidData(f"topic {name} has no partition {min(unknown)}")
        chosen += [each for each in everything if each.partition in named]
    return chosen


def _print_plan(
    options: Namespace, before: Mapping[TopicPartition, int | None], after: Mapping[TopicPartition, int | None]
) -> None:
    rows: list[dict[str, Any]] = [
        {"topic": each.topic, "partition": each.partition, "from": before.get(each), "to": to}
        for each, to in sorted(after.items())
    ]
    if options.json:
        print_json({"group": options.group, "executed": options.execute, "partitions": rows})
        return
    columns = ("TOPIC", ">PARTITION", ">FROM", ">TO")
    print_table(columns, [[row["topic"], row["partition"], _cell(row["from"]), _cell(row["to"])] for row in rows])
    if not options.execute:
        print("\nnothing was changed: --execute does it")
