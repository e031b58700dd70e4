"""Replicated on a journal that is slow and fails by seed: nothing acknowledged is lost, replay gives the live state."""

import asyncio
import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream_cluster.decision import Decision
from millstream_runtime.replicated import NotCommitted, Replicated
from millstream_runtime.simulated.loop import VirtualTimeLoop


@dataclass(frozen=True, slots=True)
class Committed:
    partition: int
    offset: int


@dataclass(slots=True)
class Offsets:
    committed: dict[int, int] = field(default_factory=dict)

    def commit(self, partition: int, offset: int) -> Decision[Committed, None]:
        return Decision((Committed(partition, offset),), None)

    def fetch(self, partition: int) -> Decision[Committed, int]:
        return Decision((), self.committed.get(partition, -1))

    def apply(self, record: Committed) -> None:
        self.committed[record.partition] = record.offset


class FlakyJournal:
    """Fails before or after the write, so that a failed append's outcome is unknown."""

    def __init__(self, seed: int, failure: float) -> None:
        self.commands: list[tuple[Committed, ...]] = []
        self.appends = 0
        self._random, self._failure, self._busy = random.Random(seed), failure, False

    async def append(self, commands) -> None:
        assert not self._busy, "two appends at once"
        self._busy = True
        self.appends += 1
        try:
            await asyncio.sleep(self._random.expovariate(1 / 0.005))
            fails = self._random.random() < self._failure
            if fails and self._random.random() < 0.5:
                raise OSError("lost before the write")
            self.commands += commands
            if fails:
                raise OSError("lost after the write")
        finally:
            self._busy = False

    def replay(self) -> Offsets:
        offsets = Offsets()
        for records in self.commands:
            for record in records:
                offsets.apply(record)
        return offsets


class Host:
    """Reloads from the journal whenever its Replicated failed, as a shard's owner does."""

    def __init__(self, journal: FlakyJournal) -> None:
        self.journal = journal
        self.now_ms = lambda: int(asyncio.get_running_loop().time() * 1000)
        self.replicated = Replicated(journal.replay(), journal, self.now_ms)

    async def run(self) -> None:
        while True:
            await self.replicated.wait_failed()
            self.replicated = Replicated(self.journal.replay(), self.journal, self.now_ms)


async def client(host: Host, seed: int, partition: int, acknowledged: dict[int, int]) -> None:
    rng = random.Random(seed * 1000 + partition)
    for offset in range(20):
        await asyncio.sleep(rng.random() / 50)
        try:
            await host.replicated.execute(lambda machine, _, offset=offset: machine.commit(partition, offset))
            acknowledged[partition] = offset
            seen = await host.replicated.execute(lambda machine, _: machine.fetch(partition))
        except NotCommitted:
            continue
        assert seen == offset


async def reader(host: Host, seed: int, partition: int) -> None:
    rng, last = random.Random(-seed - partition), -1
    for _ in range(20):
        await asyncio.sleep(rng.random() / 50)
        try:
            seen = await host.replicated.execute(lambda machine, _: machine.fetch(partition))
        except NotCommitted:
            continue
        assert seen >= last, "a reader went back in time"
        last = seen


async def scenario(seed: int, failure: float) -> None:
    journal = FlakyJournal(seed, failure)
    host = Host(journal)
    acknowledged: dict[int, int] = {}
    reloading = asyncio.create_task(host.run())
    async with asyncio.TaskGroup() as tasks:
        for partition in range(8):
            tasks.create_task(client(host, seed, partition, acknowledged))
            tasks.create_task(reader(host, seed, partition))
    reloading.cancel()
    replayed = journal.replay()
    assert replayed == host.replicated.machine
    assert all(replayed.committed[partition] >= offset for partition, offset in acknowledged.items())


def run_virtual(coroutine) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(coroutine)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), failure=st.sampled_from([0.0, 0.05, 0.3]))
def test_replay_gives_the_live_state(seed: int, failure: float) -> None:
    run_virtual(scenario(seed, failure))


def test_commands_that_arrive_during_an_append_share_the_next_one() -> None:
    async def scenario() -> None:
        journal = FlakyJournal(1, 0.0)
        replicated = Replicated(Offsets(), journal, lambda: 0)
        commits = [replicated.execute(lambda m, _, n=n: m.commit(n, 1)) for n in range(10)]
        await asyncio.gather(*commits)
        assert journal.appends == 2 or journal.appends == 1
        assert len(journal.commands) == 10

    run_virtual(scenario())


def test_a_cancelled_wait_does_not_cancel_the_commit() -> None:
    async def scenario() -> None:
        journal = FlakyJournal(1, 0.0)
        replicated = Replicated(Offsets(), journal, lambda: 0)
        waiting = asyncio.create_task(replicated.execute(lambda m, _: m.commit(1, 7)))
        await asyncio.sleep(0)
        waiting.cancel()
        assert await replicated.execute(lambda m, _: m.fetch(1)) == 7
        assert journal.replay().committed == {1: 7}

    run_virtual(scenario())


def test_a_stopped_host_answers_nobody() -> None:
    async def scenario() -> None:
        replicated = Replicated(Offsets(), FlakyJournal(1, 0.0), lambda: 0)
        waiting = asyncio.create_task(replicated.execute(lambda m, _: m.commit(1, 7)))
        await asyncio.sleep(0)
        await replicated.stop(RuntimeError("moved away"))
        with pytest.raises(NotCommitted, match="moved away"):
            await waiting
        with pytest.raises(NotCommitted):
            await replicated.execute(lambda m, _: m.fetch(1))

    run_virtual(scenario())


def test_a_decision_that_cannot_be_applied_poisons_the_host() -> None:
    class Broken(Offsets):
        def apply(self, record: Committed) -> None:
            raise KeyError(record.partition)

    async def scenario() -> None:
        replicated = Replicated(Broken(), FlakyJournal(1, 0.0), lambda: 0)
        with pytest.raises(KeyError):
            await replicated.execute(lambda m, _: m.commit(1, 7))
        with pytest.raises(NotCommitted):
            await replicated.execute(lambda m, _: m.fetch(1))

    run_virtual(scenario())
