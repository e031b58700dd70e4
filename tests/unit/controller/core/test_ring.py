"""The ring against a model of an API server that loses replies and applies writes late, with several writers at once."""

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from millstream_controller.core.ring import Ring, RingError, Slot, SnapshotRef, StoredSlot, Verdict, Write

SIZE = 4


@dataclass
class Server:
    """Compare and swap per object, and the history of what really happened."""

    slots: dict[int, StoredSlot] = field(default_factory=dict)
    log: list[Slot] = field(default_factory=list)
    version: int = 0

    def apply(self, write: Write) -> str | None:
        present = self.slots.get(write.index)
        if (present.version if present is not None else None) != write.expected:
            return None
        self.version += 1
        assert write.slot.sequence == len(self.log), "an append that does not follow the one before it"
        self.log.append(write.slot)
        self.slots[write.index] = StoredSlot(write.index, f"v{self.version}", write.slot)
        return f"v{self.version}"


@dataclass
class Writer:
    ring: Ring
    loaded: bool = False
    waiting: Write | None = None


class RingMachine(RuleBasedStateMachine):
    writers = Bundle("writers")

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.late: list[Write] = []
        self.acknowledged: list[Slot] = []
        self.count = 0

    @rule(target=writers)
    def start_writer(self) -> Writer:
        self.count += 1
        return Writer(Ring(f"w{self.count}", SIZE))

    @rule(writer=writers)
    def load(self, writer: Writer) -> None:
        """Exactly what was appended after the snapshot that the last append names."""
        batches = writer.ring.load(self.server.slots.values())
        last = self.server.log[-1].snapshot if self.server.log else None
        first = last.sequence + 1 if last is not None else 0
        assert batches == [slot.data for slot in self.server.log[first:]]
        writer.loaded, writer.waiting = True, None

    @rule(writer=writers)
    def take_snapshot(self, writer: Writer) -> None:
        if writer.loaded and writer.waiting is None and writer.ring.last_sequence >= 0:
            sequence = writer.ring.last_sequence
            writer.ring.adopt(SnapshotRef(f"s{sequence}", 1, sequence + 1, 1, sequence))

    @rule(writer=writers, fate=st.sampled_from(["replied", "reply lost", "never arrived", "arrives late"]))
    def append(self, writer: Writer, fate: str) -> None:
        if not writer.loaded or writer.waiting is not None or writer.ring.full:
            return
        write = writer.ring.write(f"{len(self.acknowledged)}".encode())
        writer.waiting = write
        self.send(writer, write, fate)

    def send(self, writer: Writer, write: Write, fate: str) -> None:
        if fate == "arrives late":
            self.late.append(write)
        if fate in ("replied", "reply lost"):
            version = self.server.apply(write)
            if fate == "replied" and version is not None:
                self.acknowledge(writer, write, version)

    @rule(index=st.integers(0, 10))
    def late_write_arrives(self, index: int) -> None:
        if self.late:
            self.server.apply(self.late.pop(index % len(self.late)))

    @rule(writer=writers, fate=st.sampled_from(["replied", "reply lost", "never arrived", "arrives late"]))
    def resolve(self, writer: Writer, fate: str) -> None:
        if writer.waiting is None:
            return
        present = self.server.slots.get(writer.waiting.index)
        match writer.ring.found(present):
            case Verdict.DONE:
                assert present is not None
                self.acknowledge(writer, writer.waiting, present.version)
            case Verdict.RETRY:
                self.send(writer, writer.waiting, fate)
            case Verdict.FENCED:
                writer.loaded, writer.waiting = False, None

    def acknowledge(self, writer: Writer, write: Write, version: str) -> None:
        writer.ring.written(version)
        writer.waiting = None
        self.acknowledged.append(write.slot)

    @invariant()
    def every_acknowledged_append_is_in_the_log_where_it_was_acknowledged(self) -> None:
        for slot in self.acknowledged:
            assert self.server.log[slot.sequence] == slot

    @invariant()
    def nothing_is_overwritten_before_a_snapshot_covers_it(self) -> None:
        Ring("reader", SIZE).load(self.server.slots.values())


TestRing = RingMachine.TestCase
TestRing.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)


def test_a_writer_that_slept_is_fenced_however_much_it_missed() -> None:
    for missed in range(1, 3 * SIZE + 1):
        server = Server()
        sleeper, other = Ring("sleeper", SIZE), Ring("other", SIZE)
        for number in range(3):
            version = server.apply(sleeper.write(b"%d" % number))
            assert version is not None
            sleeper.written(version)
        other.load(server.slots.values())
        for number in range(missed):
            if other.uncovered > 1:
                sequence = other.last_sequence
                other.adopt(SnapshotRef(f"s{sequence}", 1, 0, 0, sequence))
            version = server.apply(other.write(b"other %d" % number))
            assert version is not None
            other.written(version)
        late = sleeper.write(b"late")
        assert server.apply(late) is None
        assert sleeper.found(server.slots.get(late.index)) is Verdict.FENCED


def test_a_full_ring_takes_an_append_again_once_a_snapshot_covers_it() -> None:
    ring, server = Ring("w", SIZE), Server()
    for _ in range(SIZE):
        version = server.apply(ring.write(b""))
        assert version is not None
        assert ring.written(version) is None
    assert ring.full
    ring.adopt(SnapshotRef("first", 1, 4, 1, ring.last_sequence))
    assert not ring.full
    version = server.apply(ring.write(b"after"))
    assert version is not None
    assert ring.written(version) is None
    ring.adopt(SnapshotRef("second", 1, 5, 1, ring.last_sequence))
    version = server.apply(ring.write(b"after"))
    assert version is not None
    obsolete = ring.written(version)
    assert obsolete is not None
    assert obsolete.name == "first"


def test_a_slot_that_is_missing_or_of_another_ring_is_told_not_guessed() -> None:
    ring, server = Ring("w", SIZE), Server()
    for _ in range(3):
        version = server.apply(ring.write(b""))
        assert version is not None
        ring.written(version)
    del server.slots[1]
    with pytest.raises(RingError, match="append 1 is missing"):
        Ring("reader", SIZE).load(server.slots.values())
    with pytest.raises(RingError, match="another size"):
        Ring("reader", 2).load([StoredSlot(1, "v", Slot(0, "w", 1, None, b""))])


def test_the_next_writer_goes_on_with_the_snapshot_that_counts() -> None:
    ring, server = Ring("w", SIZE), Server()
    for number in range(3 * SIZE):
        if ring.uncovered > 1:
            ring.adopt(SnapshotRef(f"s{number}", 1, 0, 0, ring.last_sequence))
        version = server.apply(ring.write(b""))
        assert version is not None
        ring.written(version)
    successor = Ring("x", SIZE)
    successor.load(server.slots.values())
    assert not successor.full
    assert successor.snapshot == ring.snapshot is not None
    assert successor.write(b"").slot.snapshot == ring.snapshot


def test_a_snapshot_that_is_adopted_during_a_write_counts_from_the_next_one() -> None:
    """The write under way does not name it: the one before must not be removed yet."""
    ring = Ring("w", 4)
    first = SnapshotRef("first", 1, 1, 1, 0)
    second = SnapshotRef("second", 1, 2, 1, 1)
    ring.write(b"a")
    assert ring.written("1") is None
    ring.adopt(first)
    ring.write(b"b")
    assert ring.written("2") is None
    assert ring.snapshot == first
    ring.write(b"c")
    ring.adopt(second)
    assert ring.written("3") is None
    assert ring.snapshot == first
    ring.write(b"d")
    assert ring.written("4") == first
    assert ring.snapshot == second


def test_what_nobody_can_name_any_more_is_what_ends_before_the_first_append_of_this_writer() -> None:
    ring = Ring("w", 4)
    before = SnapshotRef("before", 1, 2, 1, 1)
    ring.load(
        [
            StoredSlot(0, "1", Slot(0, "v", 1, None, b"")),
            StoredSlot(1, "2", Slot(1, "v", 2, None, b"")),
            StoredSlot(2, "3", Slot(2, "v", 3, before, b"")),
        ]
    )
    assert not ring.is_left_behind("another", 1), "its writer may append before this one does"
    ring.write(b"")
    ring.written("4")
    assert ring.is_left_behind("another", 2)
    assert not ring.is_left_behind("before", 1), "it counts"
    assert not ring.is_left_behind("another", 3), "this writer's, or that of one which deposed it"
