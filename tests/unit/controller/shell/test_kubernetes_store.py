"""KubernetesStore against an API server in memory that can lose replies, apply late, and be away."""

import asyncio
import copy
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream_controller.shell import kubernetes_store
from millstream_controller.shell.kubernetes_api import refusal_of
from millstream_controller.shell.kubernetes_store import CHUNK_BYTES, DENIED_PATIENCE_MS, KubernetesStore
from millstream_controller.shell.slot_objects import PART_LABEL, Conflict, Denied, Forbidden, NoAnswer
from millstream_controller.shell.store import Fenced, Snapshot, StoreBroken, StoreUnavailable


class ApiServer:
    """Objects with resource versions; `fates` say what becomes of the next writes."""

    def __init__(self) -> None:
        self.objects: dict[str, dict] = {}
        self.version = 0
        self.fates: list[str] = []
        self.late: list = []
        self.writes = 0

    async def list(self, part):
        if "away" in self.fates:
            self.fates.remove("away")
            raise NoAnswer("away")
        return [copy.deepcopy(o) for o in self.objects.values() if o["metadata"]["labels"][PART_LABEL] == part]

    async def get(self, name):
        return copy.deepcopy(self.objects.get(name))

    async def create(self, body):
        return self._write(body["metadata"]["name"], body, None)

    async def replace(self, name, body):
        return self._write(name, body, body["metadata"]["resourceVersion"])

    async def delete(self, name):
        if "conflicting delete" in self.fates:
            self.fates.remove("conflicting delete")
            raise Conflict("409")
        self.objects.pop(name, None)

    async def close(self):
        pass

    def _write(self, name, body, expected):
        fate = self.fates.pop(0) if self.fates else "replied"
        if fate == "forbidden":
            raise Forbidden("413")
        if fate == "denied":
            raise Denied("403")
        if fate == "conflicting":  # what it touches beside the object was written meanwhile, a quota for example
            raise Conflict("409")
        if fate == "never arrived":
            raise NoAnswer("timeout")
        if fate == "arrives late":
            self.late.append((name, copy.deepcopy(body), expected))
            raise NoAnswer("timeout")
        answer = self._apply(name, body, expected)
        if fate == "reply lost":
            raise NoAnswer("timeout")
        if answer is None:
            raise Conflict(name)
        return answer

    def _apply(self, name, body, expected):
        present = self.objects.get(name)
        if (present["metadata"]["resourceVersion"] if present else None) != expected:
            return None
        self.version += 1
        self.writes += 1
        self.objects[name] = copy.deepcopy(body)
        self.objects[name]["metadata"]["resourceVersion"] = str(self.version)
        return copy.deepcopy(self.objects[name])

    def deliver_late(self):
        for name, body, expected in self.late:
            self._apply(name, body, expected)
        self.late.clear()


class World:
    random = random.Random(1)

    def __init__(self) -> None:
        self.clock_ms = 0

    def now_ms(self) -> int:
        return 0

    def monotonic_ms(self) -> int:
        return self.clock_ms


def store_on(server, writer="writer-1", slots=4) -> KubernetesStore:
    return KubernetesStore(server, World(), namespace="ns", cluster="c", writer=writer, slots=slots)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch) -> None:
    monkeypatch.setattr(kubernetes_store, "_BACKOFF_S", (0.0,))


@pytest.fixture
def server() -> ApiServer:
    return ApiServer()


def test_appends_are_there_for_the_next_controller(server, batch_at) -> None:
    async def scenario() -> None:
        store = store_on(server)
        assert (await store.load()).batches == ()
        for offset in range(3):
            await store.append(batch_at(offset))
        assert (await store_on(server, "writer-2").load()).batches == tuple(batch_at(offset) for offset in range(3))
        slot = server.objects["c-slot-02"]
        assert slot["metadata"]["labels"] == {"millstream.dev/cluster": "c", "millstream.dev/part": "slot"}
        assert (slot["spec"]["sequence"], slot["spec"]["writer"], slot["spec"]["appendNumber"]) == (2, "writer-1", 3)

    asyncio.run(scenario())


@pytest.mark.parametrize("fate", ["reply lost", "never arrived", "arrives late"])
def test_an_append_that_was_not_answered_happens_exactly_once(server, batch_at, fate) -> None:
    async def scenario() -> None:
        store = store_on(server)
        await store.load()
        await store.append(batch_at(0))
        server.fates = [fate]
        await store.append(batch_at(1))
        server.deliver_late()
        server.fates = [fate, fate, fate]
        await store.append(batch_at(2))
        server.deliver_late()
        assert server.writes == 3
        loaded = await store_on(server).load()
        assert loaded.batches == (batch_at(0), batch_at(1), batch_at(2))

    asyncio.run(scenario())


@pytest.mark.parametrize("missed", [1, 3, 4, 9])
def test_a_writer_that_slept_is_fenced_however_much_it_missed(server, batch_at, missed) -> None:
    async def scenario() -> None:
        sleeper, other = store_on(server, "sleeper"), store_on(server, "other")
        await sleeper.load()
        await sleeper.append(batch_at(0))
        await other.load()
        for number in range(missed):
            if other.wants_snapshot:
                await other.save_snapshot(Snapshot(1 + number, 1, b"snapshot"))
            await other.append(batch_at(1 + number, writer="other"))
        with pytest.raises(Fenced):
            await sleeper.append(batch_at(1))
        with pytest.raises(Fenced):
            await sleeper.append(batch_at(1))
        with pytest.raises(Fenced):
            await sleeper.save_snapshot(Snapshot(1, 1, b""))
        await sleeper.load()
        await sleeper.append(batch_at(1 + missed))

    asyncio.run(scenario())


def test_a_write_of_the_fenced_that_arrives_late_changes_nothing(server, batch_at, monkeypatch) -> None:
    monkeypatch.setattr(kubernetes_store, "_BACKOFF_S", (0.02,))

    async def scenario() -> None:
        old, new = store_on(server, "old"), store_on(server, "new")
        await old.load()
        await new.load()
        server.fates = ["arrives late"]
        appending = asyncio.create_task(old.append(batch_at(0, writer="old")))
        await asyncio.sleep(0)
        await new.append(batch_at(0, writer="new"))
        with pytest.raises(Fenced):
            await appending
        server.deliver_late()
        assert (await store_on(server).load()).batches == (batch_at(0, writer="new"),)

    asyncio.run(scenario())


def test_a_snapshot_in_parts_counts_from_the_next_append_and_the_old_one_goes(server, batch_at) -> None:
    async def scenario() -> None:
        store = store_on(server)
        await store.load()
        await store.append(batch_at(0))
        assert not store.wants_snapshot
        await store.append(batch_at(1))
        data = bytes(range(256)) * (CHUNK_BYTES // 256 + 10)
        await store.save_snapshot(Snapshot(2, 1, data))
        assert (await store_on(server).load()).snapshot is None
        await store.append(batch_at(2))
        loaded = await store_on(server).load()
        assert loaded.snapshot == Snapshot(2, 1, data)
        assert loaded.batches == (batch_at(2),)
        await store.append(batch_at(3))
        await store.save_snapshot(Snapshot(4, 1, b"newer"))
        await store.append(batch_at(4))
        assert sum(name.startswith("c-snapshot") for name in server.objects) == 1
        assert (await store_on(server).load()).snapshot == Snapshot(4, 1, b"newer")

    asyncio.run(scenario())


def test_a_conflict_is_no_proof_that_a_part_of_a_snapshot_is_there(server, batch_at) -> None:
    """A quota that others use makes an API server answer 409 to a creation that did not happen."""

    async def scenario() -> None:
        store = store_on(server)
        await store.load()
        await store.append(batch_at(0))
        server.fates = ["replied", "conflicting", "reply lost"]
        await store.save_snapshot(Snapshot(1, 1, b"x" * (CHUNK_BYTES + 1)))
        await store.append(batch_at(1))
        loaded = await store_on(server, "writer-2").load()
        assert loaded.snapshot == Snapshot(1, 1, b"x" * (CHUNK_BYTES + 1))

    asyncio.run(scenario())


def test_a_conflict_while_tidying_leaves_the_part_for_later(server, batch_at) -> None:
    """Found by seed 120: it ended the controller."""

    async def scenario() -> None:
        store = store_on(server)
        await store.load()
        await store.append(batch_at(0))
        await store.save_snapshot(Snapshot(1, 1, b"first"))
        await store.append(batch_at(1))
        await store.save_snapshot(Snapshot(2, 1, b"second"))
        server.fates = ["replied", "conflicting delete"]
        await store.append(batch_at(2))
        snapshots = [name for name in server.objects if "snapshot" in name]
        assert len(snapshots) == 2
        successor = store_on(server, "writer-2")
        await successor.load()
        await successor.append(batch_at(3))
        await successor.tidy()
        assert [name for name in server.objects if "snapshot" in name] == snapshots[1:]

    asyncio.run(scenario())


def test_snapshots_that_never_counted_are_collected(server, batch_at) -> None:
    async def scenario() -> None:
        dead = store_on(server, "dead")
        await dead.load()
        await dead.append(batch_at(0))
        await dead.save_snapshot(Snapshot(1, 1, b"orphan"))
        foreign = {"metadata": {"name": "c-snapshot-of-somebody", "labels": {PART_LABEL: "snapshot"}}, "spec": {}}
        store = store_on(server, "alive")
        await store.load()
        await store.append(batch_at(1))
        server.objects["c-snapshot-of-somebody"] = foreign
        await store.tidy()
        assert [name for name in server.objects if name.startswith("c-snapshot")] == ["c-snapshot-of-somebody"]

    asyncio.run(scenario())


def test_a_snapshot_that_is_saved_beside_the_tidying_stays(server, batch_at) -> None:
    """A takeover may be what fills half the ring: its snapshot is complete before an append names it.

    Seed 36 of the whole system: the next append named what the tidying had just removed, and the metadata was lost.
    """

    async def scenario() -> None:
        dead = store_on(server, "dead")
        await dead.load()
        await dead.append(batch_at(0))
        store = store_on(server, "alive")
        await store.load()
        await store.append(batch_at(1))
        await store.save_snapshot(Snapshot(2, 1, b"complete"))
        await store.tidy()
        await store.append(batch_at(2))
        assert (await store_on(server, "next").load()).snapshot == Snapshot(2, 1, b"complete")

    asyncio.run(scenario())


def test_a_deposed_controller_that_tidies_late_removes_nothing_that_counts(server, batch_at) -> None:
    async def scenario() -> None:
        deposed = store_on(server, "deposed")
        await deposed.load()
        await deposed.append(batch_at(0))
        store = store_on(server, "active")
        await store.load()
        await store.append(batch_at(1))
        await store.save_snapshot(Snapshot(2, 1, b"complete"))
        await store.append(batch_at(2))
        await deposed.tidy()
        assert (await store_on(server, "next").load()).snapshot == Snapshot(2, 1, b"complete")

    asyncio.run(scenario())


def test_a_snapshot_that_was_begun_before_a_load_is_not_adopted_after_it(server, batch_at, monkeypatch) -> None:
    """Another controller may have removed its parts meanwhile."""

    async def scenario() -> None:
        store = store_on(server, "old")
        await store.load()
        await store.append(batch_at(0))
        create = server.create

        async def load_meanwhile(body):
            await store.load()
            return await create(body)

        monkeypatch.setattr(server, "create", load_meanwhile)
        with pytest.raises(Fenced):
            await store.save_snapshot(Snapshot(1, 1, b"begun before"))

    asyncio.run(scenario())


def test_every_object_stays_under_a_mebibyte(server) -> None:
    async def scenario() -> None:
        store = store_on(server)
        await store.load()
        await store.append(b"\xff" * CHUNK_BYTES)
        assert len(server.objects["c-slot-00"]["spec"]["data"]) < 1 << 20

    asyncio.run(scenario())


def test_trouble_is_named(server, batch_at) -> None:
    async def scenario() -> None:
        store = store_on(server)
        server.fates = ["away"]
        with pytest.raises(StoreUnavailable):
            await store.load()
        await store.load()
        server.fates = ["forbidden"]
        with pytest.raises(StoreBroken, match="refuses"):
            await store.append(batch_at(0))
        store = store_on(server)
        await store.load()
        for offset in range(3):
            await store.append(batch_at(offset))
        await server.delete("c-slot-01")
        with pytest.raises(StoreBroken, match="append 1 is missing"):
            await store_on(server).load()
        server.objects["c-slot-01"] = {"metadata": {"labels": {PART_LABEL: "slot"}, "name": "c-slot-01"}, "spec": {}}
        with pytest.raises(StoreBroken, match="no metadata slot"):
            await store_on(server).load()

    asyncio.run(scenario())


FATES = st.sampled_from(["replied", "reply lost", "never arrived", "arrives late"])
STEPS = st.tuples(st.integers(0, 2), st.sampled_from(["load", "append", "append", "snapshot", "late"]), FATES)


@settings(max_examples=80, deadline=None)
@given(steps=st.lists(STEPS, max_size=40))
def test_the_store_law_with_three_writers(steps) -> None:
    """Acknowledged appends follow each other without gaps, and a load sees every one of them."""

    async def scenario() -> None:
        server = ApiServer()
        stores = [store_on(server, f"writer-{number}") for number in range(3)]
        known: list[int | None] = [None, None, None]
        log: list[bytes] = []
        for number, (who, what, fate) in enumerate(steps):
            store = stores[who]
            if what == "load":
                loaded = await store.load()
                start = loaded.snapshot.end_offset if loaded.snapshot is not None else 0
                assert list(loaded.batches) == log[start:]
                known[who] = len(log)
            elif what == "late":
                server.deliver_late()
            elif known[who] is not None:
                current = known[who] == len(log)
                try:
                    if what == "snapshot":
                        await store.save_snapshot(Snapshot(known[who], 1, f"{number}".encode()))
                        continue
                    if store.wants_snapshot:
                        await store.save_snapshot(Snapshot(known[who], 1, f"{number}".encode()))
                    server.fates = [fate]
                    batch = f"{who}:{number}".encode()
                    await store.append(batch)
                    assert current, "a writer that missed something appended"
                    log.append(batch)
                    known[who] = len(log)
                except Fenced:
                    assert not current, "a writer that missed nothing was fenced"
                    known[who] = None
                finally:
                    server.fates = []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        *((status, Denied) for status in (401, 403)),
        *((status, NoAnswer) for status in (408, 429, 500, 503, None)),
        *((status, Forbidden) for status in (400, 404, 413, 422)),
        (409, Conflict),
    ],
)
def test_only_what_will_not_pass_ends_a_controller(status, meaning) -> None:
    assert type(refusal_of(status, "why")) is meaning


def test_being_denied_in_passing_is_waited_out(server, batch_at, caplog) -> None:
    async def scenario() -> None:
        store = store_on(server)
        await store.load()
        server.fates = ["denied", "denied"]
        await store.append(batch_at(0))
        store._world.clock_ms += DENIED_PATIENCE_MS
        server.fates = ["denied"]
        await store.append(batch_at(1))
        assert (await store_on(server, "writer-2").load()).batches == (batch_at(0), batch_at(1))

    asyncio.run(scenario())
    assert caplog.text.count("which may pass error=403") >= 2


def test_being_denied_for_good_ends_with_its_reason(server, batch_at) -> None:
    """Also if only writes are: it looks whether they were done, and that is answered."""

    class Clock(World):
        def monotonic_ms(self) -> int:
            self.clock_ms += 1_000
            return self.clock_ms

    async def scenario() -> None:
        store = KubernetesStore(server, Clock(), namespace="ns", cluster="c", writer="w", slots=4)
        await store.load()
        server.fates = ["denied"] * 100
        with pytest.raises(StoreBroken, match="denied the metadata log for 60 s: 403"):
            await store.append(batch_at(0))
        assert server.writes == 0

    asyncio.run(scenario())
