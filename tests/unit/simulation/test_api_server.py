"""The API server in memory: compare-and-swap, and what gets lost on the way there and back."""

import asyncio
import random
from typing import Any

import pytest

from millstream_controller.core.ring import Slot
from millstream_controller.shell.slot_objects import Conflict, NoAnswer, chunk_body, slot_body
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_simulation.metadata_stores.api_server import Access, ApiConnection, ApiServer
from millstream_simulation.story import Story

SOUND = Access(lost_requests=0.0, lost_replies=0.0, late_requests=0.0, refused=0.0)


@pytest.fixture
def server() -> ApiServer:
    return ApiServer(random.Random(1), Story(lambda: 0.0))


def run(scenario: Any) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario())


def body(version: str | None = None) -> dict[str, Any]:
    return slot_body("c", "ns", 0, Slot(0, "writer", 1, None, b"data"), version)


def test_a_write_counts_only_on_the_version_that_it_names(server: ApiServer) -> None:
    async def scenario() -> None:
        connection = ApiConnection(server, SOUND)
        first = await connection.create(body())
        with pytest.raises(Conflict):
            await connection.create(body())
        second = await connection.replace("c-slot-00", body(first["metadata"]["resourceVersion"]))
        with pytest.raises(Conflict):
            await connection.replace("c-slot-00", body(first["metadata"]["resourceVersion"]))
        await connection.create(chunk_body("c", "ns", "c-snapshot", 0, b"part"))
        assert await connection.list("slot") == [second] == [await connection.get("c-slot-00")]

    run(scenario)


def test_a_write_whose_answer_is_lost_was_done(server: ApiServer) -> None:
    async def scenario() -> None:
        with pytest.raises(NoAnswer):
            await ApiConnection(server, Access(lost_replies=1.0, refused=0.0)).create(body())
        assert await ApiConnection(server, SOUND).get("c-slot-00") is not None

    run(scenario)


def test_a_late_write_may_be_done_after_its_writer_gave_up(server: ApiServer) -> None:
    async def scenario() -> None:
        late = Access(lost_requests=0.0, lost_replies=0.0, late_requests=1.0, refused=0.0)
        unanswered = 0
        for _ in range(10):
            try:
                await ApiConnection(server, late).create(body())
            except (NoAnswer, Conflict):
                unanswered += 1
        await asyncio.sleep(30)
        assert unanswered >= 1
        assert server.get("c-slot-00") is not None

    run(scenario)


def test_nothing_passes_for_a_controller_that_is_cut_off(server: ApiServer) -> None:
    async def scenario() -> None:
        with pytest.raises(NoAnswer):
            await ApiConnection(server, Access(cut=True)).create(body())
        assert server.get("c-slot-00") is None

    run(scenario)


def test_what_was_backed_up_comes_back(server: ApiServer) -> None:
    async def scenario() -> None:
        connection = ApiConnection(server, SOUND)
        first = await connection.create(body())
        server.back_up()
        await connection.replace("c-slot-00", body(first["metadata"]["resourceVersion"]))
        server.put_back()
        assert await connection.get("c-slot-00") == first

    run(scenario)
