"""The simulated world: kill takes a process and only it, partitions are silence, and a seed is a whole story."""

import asyncio
import random
from functools import partial

import pytest

from millstream_runtime.nodes.client import Disconnected, Nodes, RequestTimedOut
from millstream_runtime.serving.server import Server
from millstream_runtime.simulated.loop import Deadlock, VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.pace import Pace, SeededPace
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_wire.api import ApiKey
from millstream_wire.messages import HeartbeatRequest, HeartbeatResponse


def run(coroutine):
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)


def test_time_passes_without_waiting() -> None:
    async def scenario() -> float:
        await asyncio.sleep(86_400)
        return asyncio.get_running_loop().time()

    assert run(scenario()) == pytest.approx(86_400)


def test_nothing_left_to_happen_is_an_error() -> None:
    async def scenario() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Deadlock):
        run(scenario())


def test_threads_are_refused() -> None:
    async def scenario() -> None:
        await asyncio.to_thread(print)

    with pytest.raises(RuntimeError, match="run_blocking"):
        run(scenario())


def test_what_comes_from_outside_is_seen_between_two_steps_of_a_task() -> None:
    async def scenario() -> int:
        loop = asyncio.get_running_loop()
        arrived: list[str] = []
        found_between = 0
        for _ in range(200):
            arrived.clear()
            loop.call_later(0.0005, arrived.append, "message")
            for _ in range(20):
                before = len(arrived)
                await asyncio.sleep(0)
                found_between += len(arrived) - before
            await asyncio.sleep(1)
        return found_between

    assert run(scenario()) == 0
    with asyncio.Runner(loop_factory=partial(VirtualTimeLoop, SeededPace(random.Random(1)))) as runner:
        assert runner.run(scenario()) > 100


def test_a_thread_that_has_begun_goes_on_whoever_stops_waiting_for_it_unless_it_dies() -> None:
    async def scenario() -> None:
        network = SimulatedNetwork(random.Random(1), Conditions())
        for kill in (False, True):
            world = SimulatedWorld(network, "server", random.Random(2))
            done: list[str] = []

            async def wait(world: SimulatedWorld = world, done: list[str] = done) -> None:
                await world.run_blocking(lambda: done.append("written"))

            waiting = world.start(wait())
            await asyncio.sleep(1e-5)
            if kill:
                await world.kill()
            else:
                waiting.cancel()
                await asyncio.wait([waiting])
            assert done == []
            await asyncio.sleep(1)
            assert done == ([] if kill else ["written"])

    with asyncio.Runner(loop_factory=partial(VirtualTimeLoop, Slow())) as runner:
        runner.run(scenario())


class Slow(Pace):
    def work_s(self) -> float:
        return 0.1


async def service(world: SimulatedWorld, log: list[str]) -> None:
    """Serves heartbeats, ticks by task and by timer, cleans up unless it was killed."""

    async def slow(app, request, context) -> HeartbeatResponse:
        await asyncio.sleep(1)
        log.append("handled")
        return HeartbeatResponse()

    def tick() -> None:
        log.append("timer")
        asyncio.get_running_loop().call_later(1, tick)

    server = Server("s", {ApiKey.HEARTBEAT: slow}, None, world)
    await server.listen("server", 9092)
    tick()
    try:
        while True:
            await asyncio.sleep(1)
            log.append("task")
    finally:
        if not world.killed:
            await server.close()
            log.append("clean")


def test_kill_takes_tasks_timers_and_handlers_but_no_cleanup() -> None:
    async def scenario() -> None:
        network = SimulatedNetwork(random.Random(1), Conditions())
        world = SimulatedWorld(network, "server", random.Random(2))
        log: list[str] = []
        world.start(service(world, log))
        client = Nodes(SimulatedWorld(network, "client", random.Random(3)), client_id="c")
        asking = asyncio.create_task(client.request("server", 9092, HeartbeatRequest(), timeout_ms=10_000))
        await asyncio.sleep(0.5)
        await world.kill()
        before = list(log)
        with pytest.raises(Disconnected):
            await asking
        with pytest.raises(Disconnected, match="nobody listens"):
            await client.request("server", 9092, HeartbeatRequest(), timeout_ms=10_000)
        await asyncio.sleep(10)
        assert log == before
        restarted = SimulatedWorld(network, "server", random.Random(4))
        restarted.start(service(restarted, log))
        await asyncio.sleep(0.1)
        await client.request("server", 9092, HeartbeatRequest(), timeout_ms=10_000)
        await restarted.stop()
        assert log[-1] == "clean"

    run(scenario())


def test_a_stopped_process_does_nothing_then_everything_that_was_due() -> None:
    async def scenario() -> None:
        network = SimulatedNetwork(random.Random(1), Conditions())
        world = SimulatedWorld(network, "server", random.Random(2))
        log: list[str] = []
        world.start(service(world, log))
        client = Nodes(SimulatedWorld(network, "client", random.Random(3)), client_id="c")
        await client.request("server", 9092, HeartbeatRequest(), timeout_ms=10_000)
        world.pause(20)
        before = list(log)
        asking = asyncio.create_task(client.request("server", 9092, HeartbeatRequest(), timeout_ms=60_000))
        await asyncio.sleep(19)
        assert log == before
        await asking
        assert 20 < asyncio.get_running_loop().time() < 25
        assert len(log) - len(before) < 10
        await world.kill()

    run(scenario())


def test_a_partition_is_silence_then_a_broken_connection() -> None:
    async def scenario() -> None:
        network = SimulatedNetwork(random.Random(1), Conditions())
        world = SimulatedWorld(network, "server", random.Random(2))
        world.start(service(world, []))
        client = Nodes(SimulatedWorld(network, "client", random.Random(3)), client_id="c")
        await client.request("server", 9092, HeartbeatRequest(), timeout_ms=10_000)
        network.cut("client", "server")
        started = asyncio.get_running_loop().time()
        with pytest.raises((Disconnected, RequestTimedOut)):
            await client.request("server", 9092, HeartbeatRequest(), timeout_ms=60_000)
        assert asyncio.get_running_loop().time() - started > 5
        network.mend("client", "server")
        await client.request("server", 9092, HeartbeatRequest(), timeout_ms=60_000)
        await world.kill()

    run(scenario())


def test_the_same_seed_tells_the_same_story() -> None:
    async def scenario() -> list[str]:
        network = SimulatedNetwork(random.Random(7), Conditions(break_probability=0.1))
        world = SimulatedWorld(network, "server", random.Random(2))
        world.start(service(world, []))
        story: list[str] = []

        async def ask(name: str) -> None:
            client = Nodes(SimulatedWorld(network, name, random.Random(name)), client_id=name)
            for number in range(20):
                try:
                    await client.request("server", 9092, HeartbeatRequest(), timeout_ms=10_000)
                    outcome = "ok"
                except Disconnected as error:
                    outcome = str(error)
                story.append(f"{asyncio.get_running_loop().time():.9f} {name} {number} {outcome}")

        async with asyncio.TaskGroup() as tasks:
            for name in "abcdefgh":
                tasks.create_task(ask(name))
        await world.kill()
        return story

    first = run(scenario())
    assert first == run(scenario())
    assert len({line.split(" ", 3)[3] for line in first}) > 1
