"""One run: a cluster, its clients, trouble, peace, and then the question whether every promise was kept."""

import asyncio
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import assert_never

from millstream.processes import PlannedProcess, plan_processes
from millstream.roles import Role
from millstream_cluster.ids import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from millstream_coordinator.app import CoordinatorApp
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.nodes.follower import MetadataFollower
from millstream_runtime.simulated.clock import Clock
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.pace import SeededPace
from millstream_simulation import (
    administrator,
    exposed_topics,
    fading_topics,
    lasting_topics,
    moved_replicas,
    passing_topics,
    watched_ends,
)
from millstream_simulation.administrator import Administrator
from millstream_simulation.audit import Audit
from millstream_simulation.checks import Checks
from millstream_simulation.classic_workload import ClassicWorkload
from millstream_simulation.consumer_workload import ConsumerWorkload
from millstream_simulation.disks.quick import quick_directory
from millstream_simulation.drawing import drawn
from millstream_simulation.emptied_disk import EmptiedDisk
from millstream_simulation.exposed_topics import ExposedTopics
from millstream_simulation.fading_topics import FadingTopics
from millstream_simulation.host import Host
from millstream_simulation.in_sync import until_in_sync
from millstream_simulation.lasting_topics import LastingTopics
from millstream_simulation.listening import Listening
from millstream_simulation.metadata_stores import metadata_store
from millstream_simulation.moved_replicas import MovedReplicas
from millstream_simulation.passing_topics import PassingTopics
from millstream_simulation.restored_store import RestoredStore
from millstream_simulation.shape import Kind, Shape
from millstream_simulation.stage import SETTLE_S, Stage, until_done
from millstream_simulation.story import Story, Violation
from millstream_simulation.transaction_workload import TransactionWorkload
from millstream_simulation.trouble import trouble
from millstream_simulation.troubles.scene import Scene
from millstream_simulation.watched_ends import WatchedEnds
from millstream_simulation.workload import Workload

FIRST_PORT = 9092
OBSERVER_ID = 9_999
Beside = LastingTopics | FadingTopics | ExposedTopics | WatchedEnds | MovedReplicas | Administrator
END_S = 1_200.0
"""Of trouble and peace together: what has not come about by then never will."""


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    violation: str | None
    virtual_s: float
    events: int
    acknowledged: int
    commits: int
    transactions: int
    kills: int
    digest: str
    situations: Mapping[str, int]

    def __str__(self) -> str:
        verdict = "ok" if self.violation is None else f"VIOLATION {self.violation}"
        return (
            f"seed {self.seed}: {verdict}; {self.virtual_s:.0f} s virtual, {self.events} events, "
            f"{self.acknowledged} records acknowledged, {self.commits} commits, "
            f"{self.transactions} transactions, {self.kills} kills, digest {self.digest}"
        )


def simulate(seed: int, shape: Shape | None = None, *, tell: Callable[[str], None] | None = None) -> Outcome:
    """Run one seed; everything that happens follows from it, and from the shape where that is not drawn too."""
    pace = SeededPace(random.Random(f"{seed} pace"))
    with (
        tempfile.TemporaryDirectory(prefix="millstream-simulation-", dir=quick_directory()) as directory,
        asyncio.Runner(loop_factory=partial(VirtualTimeLoop, pace)) as runner,
    ):
        loop = runner.get_loop()
        assert isinstance(loop, VirtualTimeLoop)
        story = Story(loop.time, tell=tell)
        scenario = _Scenario(seed, shape or drawn(seed), Path(directory), story)
        loop.watch = scenario.checks.look
        with Listening(story, scenario.fail, loop.time, tell, scenario.checks.hear):
            loop.set_exception_handler(lambda _, context: scenario.fail(str(context.get("exception") or context)))
            return runner.run(scenario.run())


class _Scenario:
    def __init__(self, seed: int, shape: Shape, directory: Path, story: Story) -> None:
        self._seed = seed
        self._shape = shape
        self._story = story
        self._network = SimulatedNetwork(random.Random(f"{seed} network"), Conditions())
        self._failure: str | None = None
        self._broken = asyncio.Event()
        ports = range(FIRST_PORT, FIRST_PORT + 2 * sum(shape.counts.values()))
        planned = plan_processes(shape.counts, ports, directory, shape.settings, host_of=lambda name: name)
        brokers = [(each.host, each.port) for each in planned if each.role is Role.BROKER]
        self._controllers = [(each.host, each.port) for each in planned if each.role is Role.CONTROLLER]
        self._stage = Stage(seed, self._network, brokers, story, shape.topic_configs)
        self._store, open_store = metadata_store(shape, self._stage, directory)

        def host(process: PlannedProcess, failed: Callable[[str, BaseException | None], None]) -> Host:
            clock = _clock(shape, process.name, seed)
            process = _with_log_dirs(process, shape.log_dirs)
            return Host(process, self._network, seed, story, failed, open_store, clock, cold_reads=shape.cold_reads)

        self._hosts = [host(each, self._host_failed) for each in planned]
        min_isr = int(shape.settings.get("min.insync.replicas", "1"))
        self.checks = Checks(self._hosts, self._network, story, self.fail, min_isr=min_isr)
        self._restored = RestoredStore(self._store, planned, directory, host, story)
        self._beside: dict[str, Beside] = {}
        if shape.lasting_topics:
            self._beside[lasting_topics.HOST] = LastingTopics(self._stage)
        if shape.fading_topics:
            self._beside[fading_topics.HOST] = FadingTopics(self._stage)
        if shape.exposed_topics:
            self._beside[exposed_topics.HOST] = ExposedTopics(self._stage, self._hosts, replicated=shape.replicated)
        if shape.log_dirs > 1:
            self._beside[moved_replicas.HOST] = MovedReplicas(self._stage)
        if shape.replicated:
            self._beside[watched_ends.HOST] = watched = WatchedEnds(self._stage, self.checks.committed)
            self.checks.tell_committed(watched.on_committed)
            self._beside[administrator.HOST] = Administrator(self._stage, self.checks.committed)
        self._workloads = [_workload(kind, self._stage, shape) for kind in shape.kinds]

    def fail(self, reason: str) -> None:
        if self._failure is None:
            self._failure = reason
            self._story.add("violation", reason=reason)
        self._broken.set()

    async def run(self) -> Outcome:
        whole = asyncio.create_task(self._whole())
        broken = asyncio.create_task(self._broken.wait())
        done, _ = await asyncio.wait([whole, broken], timeout=END_S, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            self.fail(f"the run does not come to its end within {END_S:.0f} s")
        broken.cancel()
        whole.cancel()
        await asyncio.wait([whole, broken])
        if not whole.cancelled() and (error := whole.exception()) is not None:
            self.fail("; ".join(map(str, _leaves(error))))
        for host in self._hosts:
            if host.up:
                await host.kill()
        ledgers = [ledger for workload in self._workloads for ledger in workload.ledgers]
        return Outcome(
            self._seed,
            self._failure,
            asyncio.get_running_loop().time(),
            self._story.events,
            sum(ledger.acknowledged for ledger in ledgers),
            sum(ledger.commits for ledger in ledgers),
            self._story.counts.get("ended", 0),
            self._story.counts.get("killed", 0),
            self._story.digest,
            self._story.situations,
        )

    async def _whole(self) -> None:
        self._story.add("begins", shape=self._shape)
        for host in self._hosts:
            host.start()
        admin = self._stage.client("admin", "")
        nodes = sum(host.role is not Role.CONTROLLER for host in self._hosts)
        await until_done(admin.expect_nodes, nodes)
        await admin.close()
        self._restored.back_up()
        for workload in self._workloads:
            await workload.prepare()
        async with asyncio.TaskGroup() as tasks:
            observer = self._follower("observer")
            observing = tasks.create_task(observer.run())
            audit = Audit(self._stage, self._coordinators)
            auditing = tasks.create_task(audit.follow(_shards(self._shape)))
            await self._live()
            # A leader that was replaced while it was cut off may answer whoever asks from before, until it has heard of it.
            await until_in_sync(self.checks.committed)
            for workload in self._workloads:
                await workload.judge()
            for topics in self._beside.values():
                await topics.judge()
            await audit.expect_live_states()
            self.checks.look_at_all()
            auditing.cancel()
            await self._check_metadata(observer)
            observing.cancel()
        await self._stop_cleanly()
        if self._shape.empty_disk:
            draw = self._stage.random("emptied disk")
            await EmptiedDisk(self._hosts, draw, self._story, replicated=self._shape.replicated).judge()
            await self._stop_cleanly()
        self.checks.stop()
        await self._restored.judge()

    async def _live(self) -> None:
        clients = [host for workload in self._workloads for host in workload.hosts]
        scene = Scene(
            self._hosts,
            [*clients, passing_topics.HOST, *self._beside],
            self._network,
            random.Random(f"{self._seed} trouble"),
            self._story,
            self._network.conditions,
            self._store,
            self.checks.committed,
        )
        async with asyncio.TaskGroup() as tasks:
            for workload in self._workloads:
                workload.start(tasks)
            until_s = asyncio.get_running_loop().time() + self._shape.trouble_s
            others = [tasks.create_task(topics.run(until_s)) for topics in self._beside.values()]
            if self._shape.passing_topics:
                others.append(tasks.create_task(PassingTopics(self._stage).run(until_s)))
            theirs = [tasks.create_task(workload.trouble(until_s)) for workload in self._workloads]
            await trouble(scene, self._shape.troubles, self._shape.trouble_s)
            await asyncio.wait([*others, *theirs])
            await asyncio.gather(*(workload.finish() for workload in self._workloads))

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

    def _coordinators(self) -> Iterator[CoordinatorApp]:
        for host in self._hosts:
            if isinstance(host.service, CoordinatorApp):
                yield host.service

    def _follower(self, name: str) -> MetadataFollower:
        world = self._stage.world(name)
        link = ControllerLink(world, self._controllers, client_id=name)
        return MetadataFollower(world, link, node_id=OBSERVER_ID, on_records=lambda image, _: image.check())

    def _host_failed(self, name: str, error: BaseException | None) -> None:
        reasons = [repr(leaf) for leaf in _leaves(error)] if error is not None else ["it ended"]
        self.fail(f"{name} failed: {'; '.join(reasons)}")


def _workload(kind: Kind, stage: Stage, shape: Shape) -> Workload:
    match kind:
        case Kind.CLASSIC:
            return ClassicWorkload(stage, shape)
        case Kind.TRANSACTIONS | Kind.GROUP_TRANSACTIONS:
            return TransactionWorkload(stage, shape, as_group=kind is Kind.GROUP_TRANSACTIONS)
        case Kind.CONSUMER:
            return ConsumerWorkload(stage, shape)
        case _:
            assert_never(kind)


def _with_log_dirs(process: PlannedProcess, count: int) -> PlannedProcess:
    if process.role is not Role.BROKER or count == 1:
        return process
    log_dirs = ",".join(f"{process.properties['log.dirs']}/{number}" for number in range(1, count + 1))
    return replace(process, properties={**process.properties, "log.dirs": log_dirs})


def _clock(shape: Shape, host: str, seed: int) -> Clock:
    draw = random.Random(f"{seed} {host} clock")
    skew_ms = draw.randint(-shape.clock_skew_ms, shape.clock_skew_ms)
    return Clock(skew_ms=skew_ms, rate=1.0 + draw.uniform(-shape.clock_drift, shape.clock_drift))


def _shards(shape: Shape) -> dict[str, int]:
    return {
        OFFSETS_TOPIC: int(shape.settings["offsets.topic.num.partitions"]),
        TRANSACTIONS_TOPIC: int(shape.settings["transaction.state.log.num.partitions"]),
    }


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
