"""`millstream topic reassign` and `moves`: a plan for other brokers, carried out and watched, or cancelled."""

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict

from millstream.commands.output import Progress, print_json, print_table, tell
from millstream_client import Cluster, InvalidData, TopicPartition
from millstream_client.brokers import live_brokers
from millstream_client.reassignment import (
    Replicas,
    begin_moves,
    cancel_moves,
    moves_under_way,
    replicas_of,
    spread,
)

LOOK_S = 0.5


async def work_on_moves(cluster: Cluster, options: Namespace) -> None:
    await (_reassign if options.action == "reassign" else _moves)(cluster, options)


async def _reassign(cluster: Cluster, options: Namespace) -> None:
    now = await replicas_of(cluster, options.topics)
    brokers = _numbers(options.brokers) if options.brokers else await live_brokers(cluster)
    await carry_out(cluster, options, now, spread(now, brokers, options.replication_factor))


async def carry_out(cluster: Cluster, options: Namespace, now: Replicas, planned: Replicas) -> None:
    """Show what a plan changes; with --execute do it, with --wait see it done."""
    changed: Replicas = {each: replicas for each, replicas in planned.items() if tuple(replicas) != now[each]}
    rows = [
        {"topic": each.topic, "partition": each.partition, "from": list(now[each]), "to": list(replicas)}
        for each, replicas in changed.items()
    ]
    if options.json:
        print_json({"executed": options.execute, "partitions": rows})
    elif rows:
        columns = ("TOPIC", ">PARTITION", "FROM", "TO")
        print_table(
            columns,
            [
                [row["topic"], row["partition"], _listed(now[each]), _listed(changed[each])]
                for each, row in zip(changed, rows, strict=True)
            ],
        )
    else:
        print("everything is where it is wanted")
    if not options.execute:
        if rows and not options.json:
            print("\nnothing was changed: --execute does it")
        return
    if changed:
        await begin_moves(cluster, changed)
    if options.wait:
        await _wait(cluster, set(changed))


async def _moves(cluster: Cluster, options: Namespace) -> None:
    under_way = await moves_under_way(cluster)
    if options.cancel:
        partitions = [TopicPartition(each.topic, each.partition) for each in under_way]
        if partitions:
            await cancel_moves(cluster, partitions)
        tell(options, f"cancelled {', '.join(map(str, partitions)) or 'nothing'}", cancelled=list(map(str, partitions)))
    elif options.json:
        print_json([asdict(each) for each in under_way])
    else:
        columns = ("TOPIC", ">PARTITION", "REPLICAS", "ADDING", "REMOVING")
        print_table(
            columns,
            [
                [each.topic, each.partition, *map(_listed, (each.replicas, each.adding, each.removing))]
                for each in under_way
            ],
        )


async def _wait(cluster: Cluster, wanted: set[TopicPartition]) -> None:
    progress = Progress("partitions moved", len(wanted))
    try:
        while True:
            left = {TopicPartition(each.topic, each.partition) for each in await moves_under_way(cluster)} & wanted
            progress.update(len(wanted) - len(left))
            if not left:
                return
            await asyncio.sleep(LOOK_S)
    finally:
        progress.end()


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InvalidData(f"--brokers takes ids, 1,2,3, not {text!r}")
    return [int(part) for part in parts]


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
