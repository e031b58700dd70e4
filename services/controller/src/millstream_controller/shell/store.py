"""Where the metadata log lives: a store with compare-and-swap, behind one interface.

Both stores promise: an append by a writer that missed anything fails, whatever it missed; an append whose outcome was unknown
has been resolved by re-reading when `append` returns; a load sees everything that was ever acknowledged.
"""

from typing import Protocol

from millstream_wire.late_dataclass import dataclass


class StoreError(Exception):
    """Root of what a store may say."""


class Fenced(StoreError):
    """Another controller has appended: this one's state is old and must be loaded anew."""


class StoreUnavailable(StoreError):
    """The store does not answer for now; nothing is known to be wrong with it."""


class StoreBroken(StoreError):
    """What the store holds, or its disk, cannot be trusted: a person has to look. One clear line."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The Image's records as record batches, true after everything before `end_offset`."""

    end_offset: int
    epoch: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Loaded:
    """A consistent view of the log: the newest snapshot and every batch after it, oldest first."""

    snapshot: Snapshot | None
    batches: tuple[bytes, ...]


class Store(Protocol):
    """One writer's view of the log. Calls do not overlap: the owner makes them one after the other."""

    batch_bytes_max: int
    """The largest batch that one append takes."""

    async def load(self) -> Loaded:
        """Read all of it, consistently; from here on this writer may append until somebody else does."""

    async def append(self, batch: bytes) -> None:
        """Make this batch the next one, durably, or raise Fenced or StoreBroken; waits while the store is away."""

    async def verify(self) -> None:
        """Raise Fenced if another controller has appended: one that has nothing to append would not notice otherwise."""

    @property
    def wants_snapshot(self) -> bool:
        """Whether so much has been appended since the last snapshot that a new one is due."""

    @property
    def is_full(self) -> bool:
        """Whether no append is possible before a snapshot was saved."""

    saves_beside_appends: bool
    """Whether `save_snapshot` may be called while appends go on."""

    @property
    def appended(self) -> int:
        """How much this writer has appended or loaded, as a number that grows: what a snapshot taken now covers."""

    async def save_snapshot(self, snapshot: Snapshot, *, covers: int | None = None) -> None:
        """Let the log begin with this snapshot of what this writer had appended or loaded at `covers` (None: until now).

        StoreUnavailable: not now, and appends go on without it.
        """

    async def tidy(self) -> None:
        """Remove what earlier writers left behind. Only right after an append of one's own: then none of them can go on."""

    async def close(self) -> None:
        """Let go of files and connections."""
