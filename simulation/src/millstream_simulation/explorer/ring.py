"""Controllers that append to one ring of slots, explored: writes that arrive late or twice, crashes, snapshots.

The shell's part (`KubernetesStore`) is played here in a few lines: an unknown outcome is looked up and asked about again.
"""

import copy
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Self

from millstream_controller.core.ring import Ring, SnapshotRef, StoredSlot, Verdict, Write
from millstream_simulation.explorer.connections import Answered, Arrives, Breaks, Carried, Connection, Connections, Lost

STORE = "store"


@dataclass(frozen=True, slots=True)
class Loads:
    """A controller reads all slots, and the snapshot that they name."""

    writer: str


@dataclass(frozen=True, slots=True)
class Appends:
    writer: str


@dataclass(frozen=True, slots=True)
class TakesSnapshot:
    writer: str


@dataclass(frozen=True, slots=True)
class Verifies:
    """A controller asks whether it was deposed, before it answers a read."""

    writer: str


@dataclass(frozen=True, slots=True)
class Crashes:
    writer: str


Event = Loads | Appends | TakesSnapshot | Verifies | Crashes | Carried


@dataclass(frozen=True, slots=True)
class Looks:
    index: int


@dataclass(frozen=True, slots=True)
class Swapped:
    """The store's answer to a write: the new version, or None where the slot was not as expected."""

    version: str | None


Message = Write | Looks | Swapped | StoredSlot | None


@dataclass(slots=True)
class Controller:
    """One process. `known` is the log as it knows it, while it is loaded."""

    name: str
    ring: Ring
    appends_left: int
    loaded: bool = False
    known: tuple[bytes, ...] = ()
    write: Write | None = None

    def fingerprint(self) -> Hashable:
        ring = self.ring
        versions = tuple(sorted(ring._versions.items()))
        inner = (ring._next, ring._append_number, versions, ring._committed, ring._adopted, ring._outstanding)
        return self.name, self.appends_left, self.loaded, self.known, self.write, inner

    def copy(self) -> "Controller":
        ring = copy.copy(self.ring)
        ring._versions = dict(ring._versions)
        return Controller(self.name, ring, self.appends_left, self.loaded, self.known, self.write)


@dataclass(slots=True)
class RingSystem:
    """`log` is what the store took, in that order: what every load has to give."""

    make: Callable[[str, int], Ring]
    size: int
    controllers: dict[str, Controller]
    connections: Connections[Message]
    crashes_left: int
    slots: dict[int, StoredSlot] = field(default_factory=dict)
    snapshots: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    log: tuple[bytes, ...] = ()

    @classmethod
    def of(
        cls,
        make: Callable[[str, int], Ring] = Ring,
        *,
        size: int = 2,
        appends: int = 2,
        breaks: int = 1,
        crashes: int = 1,
    ) -> Self:
        """Two controllers, each of which would append a few times."""
        controllers = {name: Controller(name, make(name, size), appends) for name in ("c0", "c1")}
        return cls(make, size, controllers, Connections(breaks), crashes)

    def events(self) -> Iterator[Event]:
        for name, controller in self.controllers.items():
            if not controller.loaded:
                if controller.appends_left:
                    yield Loads(name)
            elif controller.write is None:
                if controller.appends_left and not controller.ring.full:
                    yield Appends(name)
                if controller.ring.uncovered * 2 >= self.size:
                    yield TakesSnapshot(name)
                yield Verifies(name)
            if self.crashes_left and controller.loaded:
                yield Crashes(name)
        yield from self.connections.events()

    def happen(self, event: Event) -> None:
        match event:
            case Loads(name):
                self._load(self.controllers[name])
            case Appends(name):
                controller = self.controllers[name]
                controller.appends_left -= 1
                self._ask(controller, controller.ring.write(f"{name} {controller.appends_left}".encode()))
            case TakesSnapshot(name):
                self._take_snapshot(self.controllers[name])
            case Verifies(name):
                self._verify(self.controllers[name])
            case Crashes(name):
                self._crash(name)
            case Arrives(connection):
                self._carry_out(connection, self.connections.arrived(event))
            case Answered(connection):
                self._hear(self.controllers[connection.client], self.connections.answered(event))
            case Breaks(connection):
                self.connections.breaks(event)
                controller = self.controllers[connection.client]
                if controller.write is not None:
                    self.connections.ask(controller.name, STORE, Looks(controller.write.index))
            case Lost():
                self.connections.loses(event)

    def check(self) -> None:
        """Whoever loaded now would have all that was ever taken."""
        _, found = self._read("reader")
        assert found == self.log, f"the log is {self.log}, a load gives {found}"

    def fingerprint(self) -> Hashable:
        return (
            tuple(controller.fingerprint() for controller in self.controllers.values()),
            tuple(sorted(self.slots.items())),
            tuple(sorted(self.snapshots.items())),
            self.connections.fingerprint(),
            self.crashes_left,
            self.log,
        )

    def copy(self) -> "RingSystem":
        controllers = {name: controller.copy() for name, controller in self.controllers.items()}
        slots, snapshots = dict(self.slots), dict(self.snapshots)
        left = self.crashes_left
        return RingSystem(self.make, self.size, controllers, self.connections.copy(), left, slots, snapshots, self.log)

    def _read(self, name: str) -> tuple[Ring, tuple[bytes, ...]]:
        ring = self.make(name, self.size)
        batches = ring.load(self.slots.values())
        if ring.snapshot is None:
            return ring, tuple(batches)
        return ring, (*self.snapshots[ring.snapshot.name], *batches)

    def _load(self, controller: Controller) -> None:
        number = controller.ring._append_number
        controller.ring, controller.known = self._read(controller.name)
        controller.ring._append_number = number
        controller.loaded = True

    def _ask(self, controller: Controller, write: Write) -> None:
        controller.write = write
        self.connections.ask(controller.name, STORE, write)

    def _take_snapshot(self, controller: Controller) -> None:
        sequence = controller.ring.last_sequence
        name = f"{controller.name} {sequence}"
        self.snapshots[name] = controller.known
        controller.ring.adopt(SnapshotRef(name, 1, len(controller.known), 0, sequence))

    def _verify(self, controller: Controller) -> None:
        if controller.ring.deposed(self.slots.get(controller.ring.next_index)):
            controller.loaded = False
        else:
            assert controller.known == self.log, f"{controller.name} is verified and knows {controller.known} only"

    def _crash(self, name: str) -> None:
        """Another process takes its place, with a name that none had before: so two writers are never taken for one."""
        self.crashes_left -= 1
        self.connections.crash(name)
        gone = self.controllers.pop(name)
        fresh = f"{name}'"
        self.controllers[fresh] = Controller(fresh, self.make(fresh, self.size), gone.appends_left)

    def _carry_out(self, connection: Connection, message: Message) -> None:
        match message:
            case Looks(index):
                self.connections.answer(connection, self.slots.get(index))
            case Write(index, expected, slot):
                present = self.slots.get(index)
                if (None if present is None else present.version) != expected:
                    self.connections.answer(connection, Swapped(None))
                    return
                assert slot.sequence == len(self.log), f"append {slot.sequence} was taken as number {len(self.log)}"
                version = "1" if expected is None else str(int(expected) + 1)
                self.slots[index] = StoredSlot(index, version, slot)
                self.log = (*self.log, slot.data)
                self.connections.answer(connection, Swapped(version))
            case _:
                raise AssertionError(f"no request: {message}")

    def _hear(self, controller: Controller, message: Message) -> None:
        write = controller.write
        assert write is not None
        match message:
            case Swapped(None):
                self.connections.ask(controller.name, STORE, Looks(write.index))
            case Swapped(str(version)):
                self._written(controller, write, version)
            case StoredSlot() | None:
                match controller.ring.found(message):
                    case Verdict.DONE:
                        assert message is not None
                        self._written(controller, write, message.version)
                    case Verdict.RETRY:
                        self._ask(controller, write)
                    case Verdict.FENCED:
                        controller.write, controller.loaded = None, False
            case _:
                raise AssertionError(f"no answer: {message}")

    def _written(self, controller: Controller, write: Write, version: str) -> None:
        controller.write = None
        controller.known = (*controller.known, write.slot.data)
        obsolete = controller.ring.written(version)
        assert self.log[: len(controller.known)] == controller.known, (
            f"{write.slot.data!r} was acknowledged and is lost"
        )
        if obsolete is not None:
            self.snapshots.pop(obsolete.name, None)
