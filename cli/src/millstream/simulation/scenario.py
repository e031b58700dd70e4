"""One run: a cluster, its clients, trouble, peace, and then the question whether every promise was kept."""

import asyncio
import logging
import random
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.processes import plan_processes
from millstream.roles import Role
from millstream.simulation.client import KafkaClient, NotNow
from millstream.simulation.host import Host
from millstream.simulation.ledger import Ledger
from millstream.simulation.member import Member
from millstream.simulation.producer import Producer
from millstream.simulation.story import Story, Violation
from millstream.simulation.trouble import Trouble
from millstream_runtime.controllers import ControllerLink
from millstream_runtime.follower import MetadataFollower
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld

TOPIC = "orders"
GROUP = "readers"
PARTITIONS = 4
PRODUCERS = 2
MEMBERS = 3
COUNTS = {Role.CONTROLLER: 2, Role.BROKER: 3, Role.COORDINATOR: 2}
FIRST_PORT = 9092
OBSERVER_ID = 9_999
SETTLE_S = 120.0
SETTINGS = {
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "controller.takeover.timeout.ms": "2000",
    "offsets.topic.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "200",
    "log.segment.bytes": "1048576",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    violation: str | None
    virtual_s: float
    events: int
    acknowledged: int
    commits: int
    kills: int
    digest: str

    def __str__(self) -> str:
        verdict = "ok" if self.violation is None else f"VIOLATION {self.violation}"
        return (
            f"seed {self.seed}: {verdict}; {self.virtual_s:.0f} s virtual, {self.events} events, "
            f"{self.acknowledged} records acknowledged, {self.commits} commits, {self.kills} kills, digest {self.digest}"
        )


def simulate(seed: int, *, trouble_s: float = 60.0, tell: Callable[[str], None] | None = None) -> Outcome:
    """Run one seed; everything that happens follows from it."""
    with (
        tempfile.TemporaryDirectory(prefix="millstream-simulation-") as directory,
        asyncio.Runner(loop_factory=VirtualTimeLoop) as runner,
    ):
        loop = runner.get_loop()
        scenario = _Scenario(seed, Path(directory), Story(loop.time, tell=tell))
        with _Watching(scenario.fail, loop.time, tell):
            loop.set_exception_handler(lambda _, context: scenario.fail(str(context.get("exception") or context)))
            return runner.run(scenario.run(trouble_s))


class _Watching(logging.Handler):
    """A logged traceback in any process is a bug that the process survived: the run fails all the same.

    Whoever has the story told also hears what the processes log; that is no part of the story and its digest.
    """

    def __init__(
        self, fail: Callable[[str], None], now_s: Callable[[], float], tell: Callable[[str], None] | None
    ) -> None:
        super().__init__(logging.ERROR if tell is None else logging.INFO)
        self._fail = fail
        self._now_s = now_s
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        if self._tell is not None:
            self._tell(f"{self._now_s():.6f}     {record.levelname} {record.getMessage()}")
        if record.exc_info:
            self._fail(f"{record.getMessage()}: {record.exc_info[1]!r}")

    def __enter__(self) -> None:
        logger = logging.getLogger()
        self._level_before = logger.level
        logger.setLevel(self.level)
        logger.addHandler(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)
        logging.getLogger().setLevel(self._level_before)


class _Scenario:
    def __init__(self, seed: int, directory: Path, story: Story) -> None:
        self._seed = seed
        self._story = story
        self._ledger = Ledger(story)
        self._network = SimulatedNetwork(random.Random(f"{seed} network"), Conditions())
        self._failure: str | None = None
        self._broken = asyncio.Event()
        ports = range(FIRST_PORT, FIRST_PORT + 2 * sum(COUNTS.values()))
        planned = plan_processes(COUNTS, ports, directory, SETTINGS, host_of=lambda name: name)
        self._hosts = [Host(each, self._network, seed, story, self._host_failed) for each in planned]
        self._brokers = [host.address for host in self._hosts if host.role is Role.BROKER]
        self._controllers = [host.address for host in self._hosts if host.role is Role.CONTROLLER]

    def fail(self, reason: str) -> None:
        if self._failure is None:
            self._failure = reason
            self._story.add("violation", reason=reason)
        self._broken.set()

    async def run(self, trouble_s: float) -> Outcome:
        whole = asyncio.create_task(self._whole(trouble_s))
        broken = asyncio.create_task(self._broken.wait())
        await asyncio.wait([whole, broken], return_when=asyncio.FIRST_COMPLETED)
        broken.cancel()
        whole.cancel()
        await asyncio.wait([whole, broken])
        if not whole.cancelled() and (error := whole.exception()) is not None:
            self.fail("; ".join(map(str, _leaves(error))))
        for host in self._hosts:
            if host.up:
                await host.kill()
        return Outcome(
            self._seed,
            self._failure,
            asyncio.get_running_loop().time(),
            self._story.events,
            self._ledger.acknowledged,
            self._ledger.commits,
            self._story.counts.get("killed", 0),
            self._story.digest,
        )

    async def _whole(self, trouble_s: float) -> None:
        for host in self._hosts:
            host.start()
        admin = self._client("admin")
        await _until_done(lambda: admin.expect_nodes(COUNTS[Role.BROKER] + COUNTS[Role.COORDINATOR]))
        await _until_done(lambda: admin.create_topic(PARTITIONS))
        self._story.add("topic created")
        async with asyncio.TaskGroup() as tasks:
            observer = self._follower("observer")
            observing = tasks.create_task(observer.run())
            await self._live(trouble_s)
            await self._check_logs(admin)
            await self._check_metadata(observer)
            observing.cancel()
        await admin.close()
        await self._stop_cleanly()

    async def _live(self, trouble_s: float) -> None:
        producers = [
            Producer(name, self._client(name), PARTITIONS, self._ledger, self._story)
            for name in _names("producer", PRODUCERS)
        ]
        members = [
            Member(name, GROUP, self._client(name), PARTITIONS, self._ledger, self._story)
            for name in _names("member", MEMBERS)
        ]
        others = [*_names("producer", PRODUCERS), *_names("member", MEMBERS)]
        trouble = Trouble(self._hosts, others, self._network, random.Random(f"{self._seed} trouble"), self._story)
        async with asyncio.TaskGroup() as tasks:
            producing = [tasks.create_task(producer.run()) for producer in producers]
            consuming = [tasks.create_task(member.run()) for member in members]
            await trouble.run(trouble_s)
            for producer in producers:
                producer.stop()
            await self._in_time(producing, "the producers did not finish")
            await self._in_time([tasks.create_task(self._all_consumed())], "the group did not catch up")
            for member in members:
                member.stop()
            await self._in_time(consuming, "the members did not leave")

    async def _in_time(self, tasks: "list[asyncio.Task[None]]", complaint: str) -> None:
        _, late = await asyncio.wait(tasks, timeout=SETTLE_S)
        if late:
            raise Violation(f"{complaint} within {SETTLE_S:.0f} s of peace")

    async def _all_consumed(self) -> None:
        """Every record is committed by the group."""
        client = self._client("auditor")
        for partition in range(PARTITIONS):
            end = await _until_done(lambda partition=partition: client.end_offset(partition))  # type: ignore[misc]
            while True:
                if self._ledger.committed(GROUP, partition) >= end:
                    break
                await asyncio.sleep(0.5)
        await client.close()

    async def _check_logs(self, client: KafkaClient) -> None:
        for partition in range(PARTITIONS):
            log: list[tuple[int, bytes]] = []
            end = await _until_done(lambda partition=partition: client.end_offset(partition))  # type: ignore[misc]
            while (position := log[-1][0] + 1 if log else 0) < end:
                records = await _until_done(
                    lambda partition=partition, position=position: client.fetch(partition, position)  # type: ignore[misc]
                )
                log += [(record.offset, record.value or b"") for record in records]
            self._ledger.check_log(partition, log)

    async def _check_metadata(self, observer: MetadataFollower) -> None:
        """Who followed all the time and who replays now see the same cluster."""
        replayer = self._follower("replayer")
        replaying = asyncio.create_task(replayer.run())
        try:
            async with asyncio.timeout(SETTLE_S):
                await replayer.caught_up.wait()
                while observer.image.offset != replayer.image.offset:
                    newest = max(observer.image.offset, replayer.image.offset)
                    await observer.wait_for(newest)
                    await replayer.wait_for(newest)
        except TimeoutError:
            raise Violation("metadata does not settle") from None
        finally:
            replaying.cancel()
            await asyncio.wait([replaying])
        if observer.image != replayer.image:
            raise Violation("replaying the metadata log gives another cluster than following it did")
        observer.image.check()
        self._story.add("metadata checked", offset=observer.image.offset)

    async def _stop_cleanly(self) -> None:
        for role in (Role.COORDINATOR, Role.BROKER, Role.CONTROLLER):
            for host in self._hosts:
                if host.role is role and host.up:
                    await host.stop()

    def _client(self, name: str) -> KafkaClient:
        return KafkaClient(self._world(name), self._brokers, name, TOPIC)

    def _follower(self, name: str) -> MetadataFollower:
        world = self._world(name)
        link = ControllerLink(world, self._controllers, client_id=name)
        return MetadataFollower(world, link, node_id=OBSERVER_ID, on_records=lambda image, _: image.check())

    def _world(self, name: str) -> SimulatedWorld:
        return SimulatedWorld(self._network, name, random.Random(f"{self._seed} {name}"))

    def _host_failed(self, name: str, error: BaseException | None) -> None:
        reasons = [repr(leaf) for leaf in _leaves(error)] if error is not None else ["it ended"]
        self.fail(f"{name} failed: {'; '.join(reasons)}")


def _names(kind: str, count: int) -> list[str]:
    return [f"{kind}-{number}" for number in range(1, count + 1)]


async def _until_done(attempt: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    while True:
        try:
            return await attempt()
        except NotNow:
            await asyncio.sleep(0.2)


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
