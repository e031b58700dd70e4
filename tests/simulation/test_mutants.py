"""The simulation is worth something only if it notices: with a safeguard taken out, some seed must break a promise."""

from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.upkeep.upkeep import Upkeep
from millstream_coordinator.shell.shards.journal import ShardJournal
from millstream_log.errors import OutOfOrderSequence
from millstream_log.producer_state import AppendedBatch, ProducerState
from millstream_simulation.scenario import simulate
from millstream_simulation.shape import Kind, classic
from millstream_wire.records import BatchHeader

SEEDS = range(1, 9)
Hunt = Callable[..., str]
UseProducers = Callable[[type[ProducerState]], None]


def violation() -> str | None:
    for seed in SEEDS:
        found = simulate(seed, classic(40.0)).violation
        if found is not None:
            return found
    return None


class Forgetful(ProducerState):
    def check(self, header: BatchHeader) -> AppendedBatch | None:
        with suppress(OutOfOrderSequence):
            super().check(header)
        return None


def test_a_broker_that_forgets_sequence_numbers_is_found_out(use_producers: UseProducers) -> None:
    use_producers(Forgetful)
    assert "doubled" in (violation() or "")


def test_a_coordinator_that_answers_before_the_log_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ShardJournal.append
    late: list[tuple[ShardJournal, Sequence[object]]] = []

    async def append(self: ShardJournal, commands: Sequence[tuple[object, ...]]) -> None:
        """Commit what was answered last time; what is answered now is lost if we die."""
        mine = [each for owner, each in late if owner is self]
        late[:] = [(owner, each) for owner, each in late if owner is not self]
        late.append((self, commands))
        for each in mine:
            await honest(self, each)  # type: ignore[arg-type]

    monkeypatch.setattr(ShardJournal, "append", append)
    found = violation() or ""
    assert "was told" in found or "gives another state than its coordinator has" in found, found


def test_a_checkpoint_that_takes_every_partition_for_its_own_is_found_out(
    monkeypatch: pytest.MonkeyPatch, hunt: Hunt
) -> None:
    async def trusting(self: Upkeep, replica: HostedPartition) -> None:
        flush = replica.log.start_flush()
        await self._world.run_blocking(flush.perform)
        replica.log.finish_flush(flush)

    monkeypatch.setattr(Upkeep, "_flush", trusting)
    found = hunt(Kind.CLASSIC)
    assert "failed: FileNotFoundError" in found, found
