"""Transactions: which there are, what is in one, and how to end one whose producer is gone."""

from dataclasses import asdict

from aiohttp import web

from millstream_client.transactions import abort_transaction, describe_transaction, list_transactions
from millstream_console.asked import body_of, name_in, required
from millstream_console.paging import Paging
from millstream_console.protection import ACCESS

PARTITIONS_MAX = 500


async def list_all_transactions(request: web.Request) -> web.Response:
    cluster = request[ACCESS].cluster
    page = Paging.of(request.query).cut(
        await list_transactions(cluster),
        {
            "transactional_id": lambda each: each.transactional_id,
            "state": lambda each: each.state,
            "producer_id": lambda each: each.producer_id,
        },
        lambda each: f"{each.transactional_id} {each.state}",
    )
    return web.json_response(page.shown([asdict(each) for each in page.rows]))


async def describe_one_transaction(request: web.Request) -> web.Response:
    access = request[ACCESS]
    found = await describe_transaction(access.cluster, required(request.query, "transactional_id"))
    document = {
        **asdict(found),
        "partitions": [str(each) for each in found.partitions[:PARTITIONS_MAX]],
        "partitions_total": len(found.partitions),
        "open_ms": None if found.started_ms is None else access.cluster.world.now_ms() - found.started_ms,
    }
    return web.json_response(document)


async def abort_one_transaction(request: web.Request) -> web.Response:
    """Fences its producer, too."""
    transactional_id = name_in(await body_of(request), "transactional_id")
    await abort_transaction(request[ACCESS].cluster, transactional_id)
    return web.json_response({"transactional_id": transactional_id})
