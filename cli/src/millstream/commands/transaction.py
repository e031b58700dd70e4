"""`millstream transaction`: list, describe, abort."""

from argparse import Namespace
from dataclasses import asdict

from millstream.commands.connection import cluster_of
from millstream.commands.output import print_json, print_table, tell, time_text
from millstream_client import Cluster
from millstream_client.transactions import abort_transaction, describe_transaction, list_transactions


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        match options.action:
            case "list":
                await _list(cluster, options)
            case "describe":
                await _describe(cluster, options)
            case _:
                await describe_transaction(cluster, options.transactional_id)  # or a new one would be begun
                await abort_transaction(cluster, options.transactional_id)
                done = f"{options.transactional_id}: what was open is aborted, and its producer fenced"
                tell(options, done, transactional_id=options.transactional_id)


async def _list(cluster: Cluster, options: Namespace) -> None:
    found = [
        each
        for each in await list_transactions(cluster)
        if options.state is None or each.state.lower() == options.state.lower()
    ]
    if options.json:
        print_json([asdict(each) for each in found])
        return
    columns = ("TRANSACTIONAL ID", ">PRODUCER", "STATE", ">COORDINATOR")
    print_table(columns, [[each.transactional_id, each.producer_id, each.state, each.coordinator] for each in found])


async def _describe(cluster: Cluster, options: Namespace) -> None:
    found = await describe_transaction(cluster, options.transactional_id)
    if options.json:
        print_json({**asdict(found), "partitions": [list(each) for each in found.partitions]})
        return
    started = time_text(found.started_ms) if found.started_ms is not None else "-"
    print(f"transactional id {found.transactional_id}  state {found.state}  coordinator {found.coordinator}")
    print(
        f"producer {found.producer_id}  epoch {found.producer_epoch}  timeout {found.timeout_ms} ms  started {started}"
    )
    print(f"partitions  {' '.join(map(str, found.partitions)) or 'none'}")
