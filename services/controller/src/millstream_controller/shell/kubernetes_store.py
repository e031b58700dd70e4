"""The metadata log as objects of the API server: a ring of slots for appends, chunked objects for snapshots.

The ring (core/ring.py) decides; this file makes its calls and resolves their unknown outcomes by looking again. With the API
server away it waits: produce, fetch and commits go on without it, and nothing here is tied to a lease.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from millstream_controller.core.ring import SLOTS, Ring, RingError, SnapshotRef, StoredSlot, Verdict
from millstream_controller.shell.slot_objects import (
    Conflict,
    Denied,
    Forbidden,
    NoAnswer,
    Object,
    SlotObjects,
    chunk_body,
    chunk_name,
    parse_chunk,
    parse_slot,
    slot_body,
    slot_name,
)
from millstream_controller.shell.store import Fenced, Loaded, Snapshot, StoreBroken, StoreUnavailable
from millstream_runtime.world import World

logger = logging.getLogger(__name__)

T = TypeVar("T")

CHUNK_BYTES = 700_000
"""Base64 makes it 933,336: below 1 MiB, and far below etcd's 1.5 MiB."""
_BACKOFF_S = (0.1, 0.2, 0.5, 1.0, 2.0)
_LOAD_ATTEMPTS = 5
DENIED_PATIENCE_MS = 60_000
"""How long the API server may keep us out before that is taken for its last word: rights and tokens settle within seconds."""


class KubernetesStore:
    batch_bytes_max = CHUNK_BYTES
    saves_beside_appends = True

    def __init__(
        self, objects: SlotObjects, world: World, *, namespace: str, cluster: str, writer: str, slots: int = SLOTS
    ) -> None:
        self._objects = objects
        self._world = world
        self._namespace = namespace
        self._cluster = cluster
        self._writer = writer
        self._ring = Ring(writer, slots)
        self._slots = slots
        self._snapshot_prefix = f"{cluster}-snapshot-"
        self._loaded = False
        self._loads = 0
        """How often the log was loaded: a snapshot of before a load may be gone, and is not adopted after it."""
        self._snapshots = 0
        self._denied_since_ms: dict[bool, int] = {}
        """Since when the API server has let no write (True), no read (False) of ours in, by the monotonic clock."""

    async def load(self) -> Loaded:
        self._loaded = False
        self._loads += 1
        for _ in range(_LOAD_ATTEMPTS):
            batches = self._take_over(await self._once(lambda: self._objects.list("slot")))
            reference = self._ring.snapshot
            if reference is None:
                self._loaded = True
                return Loaded(None, tuple(batches))
            snapshot = await self._read_snapshot(reference)
            if snapshot is not None:
                self._loaded = True
                return Loaded(snapshot, tuple(batches))
            # The writer replaced its snapshot while we read it; the slots name the new one by now.
        name = self._ring.snapshot.name if self._ring.snapshot is not None else ""
        raise StoreBroken(f"snapshot {name} of cluster {self._cluster} has missing parts")

    async def append(self, batch: bytes) -> None:
        if not self._loaded:
            raise Fenced("the metadata log is not loaded")
        assert len(batch) <= CHUNK_BYTES
        write = self._ring.write(batch)
        body = slot_body(self._cluster, self._namespace, write.index, write.slot, write.expected)
        obsolete = self._ring.written(await self._swap(write.index, body, create=write.expected is None))
        if obsolete is not None:
            await self._forget(obsolete)

    async def verify(self) -> None:
        if not self._loaded:
            raise Fenced("the metadata log is not loaded")
        index = self._ring.next_index
        body = await self._once(lambda: self._objects.get(slot_name(self._cluster, index)))
        if self._ring.deposed(None if body is None else parse_slot(body)):
            self._loaded = False
            raise Fenced(f"another controller has written slot {index} of cluster {self._cluster}")

    @property
    def wants_snapshot(self) -> bool:
        """From half a ring on: a large snapshot takes as long as many appends, which need the other half."""
        return self._ring.uncovered >= self._slots // 2

    @property
    def is_full(self) -> bool:
        return self._ring.full

    @property
    def appended(self) -> int:
        return self._ring.last_sequence

    async def save_snapshot(self, snapshot: Snapshot, *, covers: int | None = None) -> None:
        """Write the parts under a name of their own; the next append makes them the log's beginning."""
        if not self._loaded:
            raise Fenced("the metadata log is not loaded")
        chunks = [snapshot.data[at : at + CHUNK_BYTES] for at in range(0, len(snapshot.data), CHUNK_BYTES)]
        sequence = self._ring.last_sequence if covers is None else covers
        loads = self._loads
        self._snapshots += 1
        name = f"{self._snapshot_prefix}{sequence}-{self._writer[:8].lower()}-{self._snapshots}"
        for number, chunk in enumerate(chunks):
            await self._create_chunk(chunk_body(self._cluster, self._namespace, name, number, chunk))
        if not self._loaded or self._loads != loads:
            raise Fenced("another controller appended meanwhile")
        self._ring.adopt(SnapshotRef(name, len(chunks), snapshot.end_offset, snapshot.epoch, sequence))

    async def tidy(self) -> None:
        """Remove snapshots that nobody can make count any more; one that is being saved beside this stays."""
        for body in await self._once(lambda: self._objects.list("snapshot")):
            name = str(body["metadata"]["name"])
            if self._ring.is_left_behind(name.rpartition("-")[0], self._covered_by(name)):
                await self._delete(name)

    async def close(self) -> None:
        await self._objects.close()

    def _take_over(self, found: list[Object]) -> list[bytes]:
        try:
            return self._ring.load(parse_slot(body) for body in found)
        except RingError as error:
            raise StoreBroken(f"the metadata log of cluster {self._cluster} cannot be read: {error}") from error

    async def _swap(self, index: int, body: Object, *, create: bool) -> str:
        """Write until the outcome is definite; return the slot's new version."""
        name = slot_name(self._cluster, index)
        attempt = 0
        while True:
            try:
                answer = await self._asked(
                    lambda: self._objects.create(body) if create else self._objects.replace(name, body), writes=True
                )
                return str(answer["metadata"]["resourceVersion"])
            except (Conflict, NoAnswer) as error:
                if isinstance(error, NoAnswer):
                    await self._wait(attempt, error)
                    attempt += 1
            except Forbidden as error:
                raise StoreBroken(f"the API server refuses the metadata log: {error}") from error
            present = await self._look(name)
            match self._ring.found(present):
                case Verdict.DONE:
                    assert present is not None
                    return present.version
                case Verdict.FENCED:
                    self._loaded = False
                    raise Fenced(f"another controller has written slot {index} of cluster {self._cluster}")
                case Verdict.RETRY:
                    continue

    async def _look(self, name: str) -> StoredSlot | None:
        body = await self._persistently(lambda: self._objects.get(name), writes=False)
        return None if body is None else parse_slot(body)

    async def _read_snapshot(self, reference: SnapshotRef) -> Snapshot | None:
        parts = []
        for number in range(reference.chunks):
            body = await self._once(lambda number=number: self._objects.get(chunk_name(reference.name, number)))  # type: ignore[misc]
            if body is None:
                return None
            parts.append(parse_chunk(body))
        return Snapshot(reference.end_offset, reference.epoch, b"".join(parts))

    async def _create_chunk(self, body: Object) -> None:
        """A name is used for one snapshot only, so a part that exists already is this very part; a conflict alone does not say that."""
        name = body["metadata"]["name"]
        attempt = 0
        while True:
            try:
                await self._persistently(lambda: self._objects.create(body), writes=True)
                return
            except Conflict as error:
                if await self._persistently(lambda: self._objects.get(name), writes=False) is not None:
                    return
                await self._wait(attempt, error)
                attempt += 1

    async def _forget(self, obsolete: SnapshotRef) -> None:
        for number in range(obsolete.chunks):
            await self._delete(chunk_name(obsolete.name, number))

    def _covered_by(self, part: str) -> int:
        """The last append that the snapshot with a part of this name covers; a name that is not ours is not ours to remove."""
        sequence = part.removeprefix(self._snapshot_prefix).partition("-")[0]
        return int(sequence) if sequence.isdecimal() else self._ring.last_sequence

    async def _delete(self, name: str) -> None:
        """Tidying: what cannot be removed now is removed after the next takeover."""
        try:
            await self._objects.delete(name)
        except (NoAnswer, Forbidden, Conflict) as error:
            logger.warning("metadata snapshot part left behind name=%s error=%s", name, error)

    async def _asked(self, call: Callable[[], Awaitable[T]], *, writes: bool) -> T:
        """Make a call. Being kept out in passing is no answer (Denied); being kept out for good is StoreBroken."""
        try:
            answer = await call()
        except Denied as error:
            now_ms = self._world.monotonic_ms()
            since_ms = self._denied_since_ms.setdefault(writes, now_ms)
            if since_ms == now_ms:
                logger.warning("API server denies the metadata log, which may pass error=%s", error)
            elif now_ms - since_ms >= DENIED_PATIENCE_MS:
                seconds = DENIED_PATIENCE_MS // 1000
                raise StoreBroken(f"the API server has denied the metadata log for {seconds} s: {error}") from error
            raise
        except Conflict:
            self._denied_since_ms.pop(writes, None)
            raise
        self._denied_since_ms.pop(writes, None)
        return answer

    async def _once(self, call: Callable[[], Awaitable[T]]) -> T:
        """A read that is not tried again here."""
        try:
            return await self._asked(call, writes=False)
        except NoAnswer as error:
            raise StoreUnavailable(f"the API server does not answer: {error}") from error
        except Forbidden as error:
            raise StoreBroken(f"the API server refuses the metadata log: {error}") from error

    async def _persistently(self, call: Callable[[], Awaitable[T]], *, writes: bool) -> T:
        attempt = 0
        while True:
            try:
                return await self._asked(call, writes=writes)
            except NoAnswer as error:
                await self._wait(attempt, error)
                attempt += 1
            except Forbidden as error:
                raise StoreBroken(f"the API server refuses the metadata log: {error}") from error

    async def _wait(self, attempt: int, error: Exception) -> None:
        if attempt in (0, len(_BACKOFF_S)):
            logger.warning("metadata append waits for the API server error=%s", error)
        pause_s = _BACKOFF_S[min(attempt, len(_BACKOFF_S) - 1)]
        await asyncio.sleep(pause_s * (0.5 + self._world.random.random()))
