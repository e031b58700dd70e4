"""The commit point under every order of few events and many random ones, against a model that knows everything; and mutants of it.

The mutants stand around the real step machine and spoil one rule each: the compiled one cannot be patched.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol, Self

import pytest

from millstream_broker.core.partition.commit_waits import Answer, CommitWait
from millstream_broker.core.partition.effects import Committed, CommitWaitsEnded, Effect
from millstream_broker.core.partition.standing import Assigned, Partition
from millstream_simulation.explorer.explore import exhaust, wander
from millstream_wire.errors import ErrorCode

US, FOLLOWERS = 1, (2, 3)
REPLICAS = (US, *FOLLOWERS)
NOBODY = -1


class Machine(Protocol):
    def on_assigned(self, event: Assigned) -> tuple[Effect, ...]: ...
    def on_appended(self, end_offset: int, size: int, unstable: int, ended_from: int, /) -> tuple[Effect, ...]: ...
    def on_fetched(self, replica_id: int, fetch_offset: int) -> tuple[Effect, ...]: ...
    def await_commit(self, offset: int, answer: Answer) -> CommitWait: ...
    def cancel(self, wait: CommitWait) -> None: ...


@dataclass(frozen=True)
class Appends:
    """A batch of one record: "plain", or the "begin" or "end" of a transaction."""

    kind: str


@dataclass(frozen=True)
class Repeats:
    """A producer sends its last batch again."""


@dataclass(frozen=True)
class Fetches:
    node: int
    offset: int


@dataclass(frozen=True)
class Assigns:
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int


@dataclass(frozen=True)
class GoesAway:
    """The client of the oldest wait is gone."""


Event = Appends | Repeats | Fetches | Assigns | GoesAway


@dataclass
class Wait:
    leader_epoch: int
    offset: int
    handle: CommitWait | None = None
    outcome: ErrorCode | None = None
    is_gone: bool = False

    @property
    def is_open(self) -> bool:
        return self.outcome is None and not self.is_gone

    def answered(self, code: ErrorCode) -> None:
        assert self.is_open, "a client is answered twice, or although it is gone"
        self.outcome = code


class CommitSystem:
    def __init__(self, make: Callable[[Partition], Machine], *, appends: int, epochs: int) -> None:
        self._again = partial(CommitSystem, make, appends=appends, epochs=epochs)
        self._appends, self._epochs = appends, epochs
        self._trace: list[Event] = []
        self._partition = Partition(US, end_offset=0, high_watermark=0)
        self._machine = make(self._partition)
        self._sizes: list[int] = []
        self._transactions: list[tuple[int, int | None]] = []
        self._fetched: dict[int, int] = {}
        self._waits: list[Wait] = []
        self._high_watermark = self._told = self._told_stable = self._told_size = self._told_stable_size = 0
        self._assignment = Assigns((), NOBODY, 0)
        self._assign(Assigns(REPLICAS, US, 1))

    # ---- what may happen ----

    def events(self) -> Iterator[Event]:
        now = self._assignment
        if now.leader == US:
            if len(self._sizes) < self._appends:
                is_open = self._transactions and self._transactions[-1][1] is None
                yield Appends("plain")
                yield Appends("end" if is_open else "begin")
            if self._high_watermark < len(self._sizes):
                yield Repeats()
            for node in FOLLOWERS:
                known = self._fetched.get(node, 0)
                for offset in sorted({0, min(known + 1, len(self._sizes)), len(self._sizes)}):
                    yield Fetches(node, offset)
            for isr in (US,), (US, 2), REPLICAS:
                joins = [node for node in isr if node != US and node not in now.isr]
                if isr != now.isr and all(self._fetched.get(node, -1) >= self._high_watermark for node in joins):
                    yield Assigns(isr, US, now.leader_epoch)
            if any(wait.is_open for wait in self._waits):
                yield GoesAway()
        if now.leader_epoch < self._epochs:
            for leader in US, 2, NOBODY:
                yield Assigns(now.isr, leader, now.leader_epoch + 1)

    def happen(self, event: Event) -> None:
        self._trace.append(event)
        match event:
            case Appends(kind):
                self._append(kind)
            case Repeats():
                self._await(len(self._sizes) - 1)
            case Fetches(node, offset):
                self._fetched[node] = offset
                self._advance()
                self._perform(self._machine.on_fetched(node, offset))
            case Assigns():
                self._assign(event)
            case GoesAway():
                wait = next(wait for wait in self._waits if wait.is_open)
                wait.is_gone = True
                assert wait.handle is not None
                self._machine.cancel(wait.handle)

    def _append(self, kind: str) -> None:
        offset = len(self._sizes)
        self._sizes.append(10 + offset)
        ended_from = -1
        if kind == "begin":
            self._transactions.append((offset, None))
        elif kind == "end":
            ended_from = self._transactions[-1][0]
            self._transactions[-1] = ended_from, offset
        unstable = min((first for first, marker in self._transactions if marker is None), default=-1)
        self._advance()
        self._perform(self._machine.on_appended(offset + 1, self._sizes[-1], unstable, ended_from))
        self._await(offset)

    def _await(self, offset: int) -> None:
        if offset >= self._partition.high_watermark:
            wait = Wait(self._assignment.leader_epoch, offset)
            self._waits.append(wait)
            wait.handle = self._machine.await_commit(offset, wait.answered)

    def _assign(self, event: Assigns) -> None:
        if event.leader_epoch != self._assignment.leader_epoch:
            self._fetched = {}
        self._assignment = event
        self._advance()
        assigned = Assigned(REPLICAS, event.isr, event.leader, event.leader_epoch, len(self._trace))
        self._perform(self._machine.on_assigned(assigned))

    def _advance(self) -> None:
        """What is committed, by the rule itself."""
        if self._assignment.leader == US:
            ends = [self._fetched.get(node, 0) for node in self._assignment.isr if node != US]
            self._high_watermark = max(self._high_watermark, min([len(self._sizes), *ends]))

    def _perform(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if isinstance(effect, Committed):
                assert effect.high_watermark > self._told, "told what was told before"
                self._told, self._told_stable = effect.high_watermark, effect.last_stable_offset
                self._told_size += effect.size
                self._told_stable_size += effect.stable_size
            elif isinstance(effect, CommitWaitsEnded):
                for wait in effect.waits:
                    wait.answer(effect.error_code)

    # ---- what has to hold ----

    def check(self) -> None:
        self._partition.check()
        epoch, is_leader = self._assignment.leader_epoch, self._assignment.leader == US
        assert self._partition.high_watermark == self._told == self._high_watermark, "another high watermark"
        undecided = (first for first, marker in self._transactions if marker is None or marker >= self._high_watermark)
        stable = min([self._high_watermark, *undecided])
        assert self._partition.last_stable_offset == self._told_stable == stable, "another last stable offset"
        assert self._told_size >= sum(self._sizes[: self._high_watermark]), "bytes were committed untold"
        assert self._told_stable_size >= sum(self._sizes[:stable]), "bytes were decided untold"
        for wait in self._waits:
            if wait.outcome is ErrorCode.NONE:
                assert wait.offset < self._high_watermark, "acknowledged and not committed"
            if wait.is_open:
                assert (is_leader, epoch) == (True, wait.leader_epoch), "a wait outlived its leader epoch"
                assert wait.offset >= self._high_watermark, "committed and not acknowledged"

    def fingerprint(self) -> Hashable:
        waits = tuple((wait.leader_epoch, wait.offset, wait.outcome, wait.is_gone) for wait in self._waits)
        fetched = tuple(sorted(self._fetched.items()))
        return self._assignment, len(self._sizes), tuple(self._transactions), fetched, waits, self._high_watermark

    def copy(self) -> Self:
        again = self._again()
        for event in self._trace:
            again.happen(event)
        return again  # type: ignore[return-value]


KINDS = {"Appends", "Repeats", "Fetches", "Assigns", "GoesAway"}


def honest(partition: Partition) -> Machine:
    return Mutant(partition)


def test_the_commit_point_in_every_order_of_few_events() -> None:
    explored = exhaust([CommitSystem(honest, appends=2, epochs=2)], steps_max=5)
    assert explored.broken is None, str(explored.broken)
    assert explored.complete
    assert explored.happened.keys() == KINDS


def test_the_commit_point_in_random_orders_of_many_events() -> None:
    explored = wander(lambda: CommitSystem(honest, appends=12, epochs=4), seed=1, schedules=400, steps_max=40)
    assert explored.broken is None, str(explored.broken)
    assert explored.happened.keys() == KINDS


class Mutant:
    """Hands everything on; its subclasses spoil something. Who fetches may not join: here the metadata says who is in sync."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition

    def on_assigned(self, event: Assigned) -> tuple[Effect, ...]:
        return self.partition.on_assigned(event)

    def on_appended(self, end_offset: int, size: int, unstable: int, ended_from: int, /) -> tuple[Effect, ...]:
        return self.partition.on_appended(end_offset, size, unstable, ended_from)

    def on_fetched(self, replica_id: int, fetch_offset: int) -> tuple[Effect, ...]:
        return self.partition.on_fetched(replica_id, fetch_offset, broker_epoch=1, now_ms=0, may_join=False)

    def await_commit(self, offset: int, answer: Answer) -> CommitWait:
        return self.partition.await_commit(offset, answer)

    def cancel(self, wait: CommitWait) -> None:
        self.partition.cancel(wait)


class KeepsWaits(Mutant):
    """Over a change of the leader epoch, until the high watermark passes (KAFKA-20634)."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition)
        self.waits: list[CommitWait] = []

    def on_assigned(self, event: Assigned) -> tuple[Effect, ...]:
        return self.over(self.partition.on_assigned(event))

    def on_appended(self, end_offset: int, size: int, unstable: int, ended_from: int, /) -> tuple[Effect, ...]:
        return self.over(self.partition.on_appended(end_offset, size, unstable, ended_from))

    def on_fetched(self, replica_id: int, fetch_offset: int) -> tuple[Effect, ...]:
        return self.over(super().on_fetched(replica_id, fetch_offset))

    def await_commit(self, offset: int, answer: Answer) -> CommitWait:
        self.waits.append(CommitWait(0, offset, answer))
        return self.waits[-1]

    def cancel(self, wait: CommitWait) -> None:
        self.waits.remove(wait)

    def over(self, effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
        ended = [wait for wait in self.waits if wait.offset < self.partition.high_watermark]
        self.waits = [wait for wait in self.waits if wait not in ended]
        return (*effects, CommitWaitsEnded(ended, ErrorCode.NONE))


class AcknowledgesRepetitions(Mutant):
    """At once, as if what is in the log were committed."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition)
        self.offsets: set[int] = set()

    def await_commit(self, offset: int, answer: Answer) -> CommitWait:
        wait = self.partition.await_commit(offset, answer)
        if offset in self.offsets:
            self.partition.cancel(wait)
            answer(ErrorCode.NONE)
        self.offsets.add(offset)
        return wait


class CommitsWithOne(Mutant):
    """What one follower has counts for all of the ISR."""

    def on_fetched(self, replica_id: int, fetch_offset: int) -> tuple[Effect, ...]:
        return super().on_fetched(2, fetch_offset) + super().on_fetched(3, fetch_offset)


class RemembersFollowers(Mutant):
    """What they had under the last leader."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition)
        self.fetched: dict[int, int] = {}

    def on_fetched(self, replica_id: int, fetch_offset: int) -> tuple[Effect, ...]:
        self.fetched[replica_id] = fetch_offset
        return super().on_fetched(replica_id, fetch_offset)

    def on_assigned(self, event: Assigned) -> tuple[Effect, ...]:
        effects = self.partition.on_assigned(event)
        for node, offset in self.fetched.items():
            effects += super().on_fetched(node, offset)
        return effects


class DecidesAtTheMarker(Mutant):
    """A transaction is over with its marker in the leader's log."""

    def on_appended(self, end_offset: int, size: int, unstable: int, ended_from: int, /) -> tuple[Effect, ...]:
        return self.partition.on_appended(end_offset, size, unstable, -1)


class WaitsForFetches(Mutant):
    """Looks at a smaller ISR with the next fetch only (KAFKA-13091)."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition)
        self.late: Assigned | None = None

    def on_assigned(self, event: Assigned) -> tuple[Effect, ...]:
        if event.leader == US and event.leader_epoch == self.partition.leader_epoch:
            self.late = event
            return ()
        self.late = None
        return self.partition.on_assigned(event)

    def on_fetched(self, replica_id: int, fetch_offset: int) -> tuple[Effect, ...]:
        late, self.late = self.late, None
        assigned = self.partition.on_assigned(late) if late is not None else ()
        return assigned + super().on_fetched(replica_id, fetch_offset)


@pytest.mark.parametrize(
    ("mutant", "complaint"),
    [
        (KeepsWaits, "a wait outlived its leader epoch"),
        (AcknowledgesRepetitions, "acknowledged and not committed"),
        (CommitsWithOne, "another high watermark"),
        (RemembersFollowers, "another high watermark"),
        (DecidesAtTheMarker, "another last stable offset"),
        (WaitsForFetches, "another high watermark"),
    ],
)
def test_a_commit_point_without_one_of_its_rules_is_found_out(
    mutant: Callable[[Partition], Machine], complaint: str
) -> None:
    # What a mutant remembers is in no fingerprint, so schedules are drawn.
    explored = wander(lambda: CommitSystem(mutant, appends=6, epochs=3), seed=1, schedules=2_000, steps_max=20)
    assert explored.broken is not None, str(explored)
    assert complaint in explored.broken.complaint, str(explored.broken)
