"""Appends and snapshots of the metadata log, over a store in an API server."""

import asyncio
from itertools import count

import pytest
from controller_machines import sound_api_server

from millstream_cluster.ids import ProducerId
from millstream_cluster.records import MetadataRecord, ProducerIdsAllocated
from millstream_controller.config import InKubernetes
from millstream_controller.core.ring import SLOTS
from millstream_controller.shell.journal import StoreJournal
from millstream_controller.shell.metadata_log import MetadataLog
from millstream_controller.shell.slot_objects import PART_LABEL, Forbidden, NoAnswer
from millstream_controller.shell.store import StoreBroken
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_simulation.metadata_stores.api_server import ApiConnection, ApiServer


class Parts:
    """Holds back, or refuses, what a snapshot consists of."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held = True
        self.broken = False
        create = ApiConnection.create

        async def held(connection, body):
            if body["metadata"]["labels"][PART_LABEL] == "snapshot":
                if self.broken:
                    raise Forbidden("413")
                if self.held:
                    raise NoAnswer("busy")
            return await create(connection, body)

        monkeypatch.setattr(ApiConnection, "create", held)


@pytest.fixture
def server() -> ApiServer:
    return sound_api_server()


async def journal_on(server: ApiServer) -> tuple[StoreJournal, MetadataLog]:
    world = SimulatedWorld(SimulatedNetwork(server.random, Conditions()), "c0", server.random)
    store = await server.open(InKubernetes("ns", "cluster"), world, "writer")
    log = MetadataLog(await store.load())
    return StoreJournal(store, log, "writer", 1, world), log


def run(scenario) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario())


def test_appends_go_on_while_a_snapshot_is_saved_until_the_ring_is_full(server, monkeypatch) -> None:
    async def scenario() -> None:
        parts = Parts(monkeypatch)
        journal, log = await journal_on(server)
        numbers = count(1)

        def more() -> list[tuple[MetadataRecord, ...]]:
            return [(ProducerIdsAllocated(ProducerId(next(numbers))),)]

        for _ in range(SLOTS):
            async with asyncio.timeout(1):
                await journal.append(more())
        assert log.snapshot is None
        waiting = asyncio.create_task(journal.append(more()))
        await asyncio.sleep(20)
        assert not waiting.done()
        parts.held = False
        await waiting
        assert log.snapshot is not None
        assert log.snapshot.end_offset == SLOTS // 2
        for _ in range(3 * SLOTS):
            await journal.append(more())
        _, again = await journal_on(server)
        assert again.image == log.image
        await journal.stop()

    run(scenario)


def test_a_snapshot_that_breaks_the_store_is_not_passed_over(server, monkeypatch) -> None:
    async def scenario() -> None:
        parts = Parts(monkeypatch)
        parts.broken = True
        journal, _ = await journal_on(server)

        async def append_many() -> None:
            for number in range(1, SLOTS):
                await journal.append([(ProducerIdsAllocated(ProducerId(number)),)])
                await asyncio.sleep(1)

        with pytest.raises(StoreBroken, match="413"):
            await append_many()
        await journal.stop()

    run(scenario)
