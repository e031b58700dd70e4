"""The simulated world: kill takes a process and only it, partitions are silence, and a seed is a whole story."""

import asyncio
import random
from functools import partial

import pytest

from millstream_runtime.nodes.client import Disconnected, Nodes, RequestTimedOut
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_runtime.simulated.clock import EPOCH_MS, Clock
from millstream_runtime.simulated.loop import Deadlock, VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.pace import NodePace, Pace, SeededPace
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

    server = Server("s", {ApiKey.HEARTBEAT: serve(HeartbeatRequest, slow)}, None, world)
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


def test_what_is_said_in_the_open_direction_of_a_one_way_cut_arrives() -> None:
    async def scenario() -> None:
        network = SimulatedNetwork(random.Random(1), Conditions())
        world = SimulatedWorld(network, "server", random.Random(2))
        log: list[str] = []
        world.start(service(world, log))
        client = Nodes(SimulatedWorld(network, "client", random.Random(3)), client_id="c")
        await client.request("server", 9092, HeartbeatRequest(), timeout_ms=10_000)
        network.cut_one_way("server", "client")
        with pytest.raises((Disconnected, RequestTimedOut)):
            await client.request("server", 9092, HeartbeatRequest(), timeout_ms=60_000)
        assert log.count("handled") == 2
        network.mend("server", "client")
        network.cut_one_way("client", "server")
        with pytest.raises((Disconnected, RequestTimedOut)):
            await client.request("server", 9092, HeartbeatRequest(), timeout_ms=60_000)
        assert log.count("handled") == 2
        await world.kill()

    run(scenario())


def test_one_link_is_slow_and_the_others_are_not() -> None:
    async def scenario() -> None:
        network = SimulatedNetwork(random.Random(1), Conditions(slow_probability=0.0))
        world = SimulatedWorld(network, "server", random.Random(2))
        world.start(service(world, []))
        loop = asyncio.get_running_loop()
        took: dict[str, float] = {}
        network.links["far", "server"] = Conditions(delay_ms=(5_000, 5_001))
        for name in ("near", "far"):
            client = Nodes(SimulatedWorld(network, name, random.Random(3)), client_id=name)
            await asyncio.sleep(0.1)
            began = loop.time()
            await client.request("server", 9092, HeartbeatRequest(), timeout_ms=60_000)
            took[name] = loop.time() - began
        assert took["near"] < 2
        assert took["far"] > 10
        await world.kill()

    run(scenario())


def test_timers_and_clocks_of_a_process_go_by_its_hosts_clock() -> None:
    async def scenario() -> None:
        network = SimulatedNetwork(random.Random(1), Conditions())
        clock = Clock(skew_ms=-5_000, rate=2.0)
        world = SimulatedWorld(network, "fast", random.Random(2), clock=clock)
        ended: list[float] = []

        async def sleeper() -> None:
            before_ms = world.monotonic_ms()
            await asyncio.sleep(10)
            ended.append(asyncio.get_running_loop().time())
            assert world.monotonic_ms() - before_ms == pytest.approx(10_000, abs=2)

        await world.start(sleeper())
        assert ended == [pytest.approx(5.0)]
        assert world.now_ms() == EPOCH_MS - 5_000 + 10_000
        clock.jump(-60_000)
        assert world.now_ms() == EPOCH_MS - 5_000 + 10_000 - 60_000
        assert world.monotonic_ms() == 10_000

    run(scenario())


def test_a_slow_host_does_the_same_things_in_the_same_order_later() -> None:
    async def scenario(slowness_s: float) -> tuple[list[int], float]:
        pace = NodePace(random.Random(4))
        pace.slowness_s = slowness_s
        world = SimulatedWorld(SimulatedNetwork(random.Random(1), Conditions()), "slow", random.Random(2), pace=pace)
        done: list[int] = []

        async def worker() -> None:
            loop = asyncio.get_running_loop()
            for number in range(50):
                loop.call_later(number / 10_000, done.append, number)
            over = asyncio.Event()
            loop.call_later(0.01, over.set)
            await over.wait()

        await world.start(worker())
        return done, asyncio.get_running_loop().time()

    quick, slow = run(scenario(0.0)), run(scenario(0.1))
    assert slow[0] == quick[0] == list(range(50))
    assert slow[1] > 2 > 0.1 > quick[1]


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
