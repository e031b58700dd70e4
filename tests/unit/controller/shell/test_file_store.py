import asyncio
import fcntl
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream_controller.shell import file_store
from millstream_controller.shell.file_store import FileStore
from millstream_controller.shell.store import Fenced, Snapshot, StoreBroken, StoreUnavailable
from millstream_log import Log, StorageError


def test_what_was_appended_is_there_for_everybody_after_a_restart(tmp_path, world, batch_at) -> None:
    async def scenario() -> None:
        store = FileStore(tmp_path, world)
        assert (await store.load()).batches == ()
        await store.append(batch_at(0))
        await store.append(batch_at(1, 3))
        await store.close()
        loaded = await FileStore(tmp_path, world).load()
        assert loaded.snapshot is None
        assert loaded.batches == (batch_at(0), batch_at(1, 3))

    asyncio.run(scenario())


def test_the_log_is_an_ordinary_kafka_log(tmp_path, world, batch_at) -> None:
    async def scenario() -> None:
        store = FileStore(tmp_path, world)
        await store.load()
        await store.append(batch_at(0, 2))

    asyncio.run(scenario())
    segment = tmp_path / "__cluster_metadata-0" / "00000000000000000000.log"
    assert segment.read_bytes() == batch_at(0, 2)


def test_work_that_is_cancelled_before_its_first_step_holds_no_lock(tmp_path, world) -> None:
    """Seed 19, by then: a controller that was killed while it began to look into the store kept its lock for ever."""

    async def scenario() -> None:
        store = FileStore(tmp_path, world)
        looking = asyncio.ensure_future(store.load())
        await asyncio.sleep(0)
        (working,) = store._under_way
        working.cancel()
        await asyncio.wait([looking])
        await FileStore(tmp_path, world).load()

    asyncio.run(scenario())


@pytest.mark.parametrize("missed", [1, 2, 7])
@pytest.mark.parametrize("snapshot", [False, True])
def test_a_writer_that_slept_is_fenced_whatever_it_missed(tmp_path, world, batch_at, missed, snapshot) -> None:
    async def scenario() -> None:
        sleeper, other = FileStore(tmp_path, world), FileStore(tmp_path, world)
        await sleeper.load()
        await sleeper.append(batch_at(0))
        await other.load()
        for number in range(missed):
            await other.append(batch_at(1 + number, writer="other"))
            if snapshot:
                await other.save_snapshot(Snapshot(2 + number, 1, batch_at(0)))
        with pytest.raises(Fenced):
            await sleeper.append(batch_at(1))
        with pytest.raises(Fenced):
            await sleeper.append(batch_at(1))
        with pytest.raises(Fenced):
            await sleeper.save_snapshot(Snapshot(1, 1, batch_at(0)))
        await other.append(batch_at(1 + missed))
        loaded = await sleeper.load()
        assert len(loaded.batches) == (1 if snapshot else missed + 2)
        await sleeper.append(batch_at(2 + missed))

    asyncio.run(scenario())


def test_two_who_loaded_the_same_cannot_both_append(tmp_path, world, batch_at) -> None:
    async def scenario() -> None:
        one, two = FileStore(tmp_path, world), FileStore(tmp_path, world)
        await one.load()
        await two.load()
        results = await asyncio.gather(
            one.append(batch_at(0, writer="one")), two.append(batch_at(0, writer="two")), return_exceptions=True
        )
        assert sorted(type(result).__name__ for result in results) == ["Fenced", "NoneType"]

    asyncio.run(scenario())


def test_a_torn_append_of_a_dead_writer_is_cut_off(tmp_path, world, batch_at) -> None:
    async def scenario() -> None:
        store = FileStore(tmp_path, world)
        await store.load()
        await store.append(batch_at(0))
        segment = tmp_path / "__cluster_metadata-0" / "00000000000000000000.log"
        segment.write_bytes(segment.read_bytes() + batch_at(1)[:-5])
        after = FileStore(tmp_path, world)
        assert (await after.load()).batches == (batch_at(0),)
        await after.append(batch_at(1, writer="after"))
        assert len((await FileStore(tmp_path, world).load()).batches) == 2

    asyncio.run(scenario())


def test_a_snapshot_lets_older_segments_go(tmp_path, world, batch_at) -> None:
    async def scenario() -> None:
        store = FileStore(tmp_path, world, snapshot_after_bytes=1)
        await store.load()
        assert not store.wants_snapshot
        for offset in range(5):
            await store.append(batch_at(offset))
        assert store.wants_snapshot
        await store.save_snapshot(Snapshot(5, 3, batch_at(0)))
        assert not store.wants_snapshot
        await store.append(batch_at(5))
        directory = tmp_path / "__cluster_metadata-0"
        assert [path.name for path in directory.glob("*.log")] == ["00000000000000000005.log"]
        await store.save_snapshot(Snapshot(6, 3, batch_at(1)))
        assert [path.name for path in directory.glob("*.checkpoint")] == ["00000000000000000006-0000000003.checkpoint"]
        loaded = await FileStore(tmp_path, world).load()
        assert loaded == type(loaded)(Snapshot(6, 3, batch_at(1)), ())

    asyncio.run(scenario())


def test_a_crash_between_a_snapshot_and_the_trim_loses_nothing(tmp_path, world, batch_at, monkeypatch) -> None:
    async def scenario() -> None:
        store = FileStore(tmp_path, world)
        await store.load()
        for offset in range(3):
            await store.append(batch_at(offset))
        with monkeypatch.context() as patch:
            patch.setattr(Log, "roll", lambda *_: (_ for _ in ()).throw(OSError("crash")))
            with pytest.raises(StoreBroken):
                await store.save_snapshot(Snapshot(2, 1, batch_at(0)))
        loaded = await FileStore(tmp_path, world).load()
        assert loaded.snapshot == Snapshot(2, 1, batch_at(0))
        assert loaded.batches == (batch_at(2),)

    asyncio.run(scenario())


def test_a_full_disk_is_waited_out(tmp_path, world, batch_at, monkeypatch) -> None:
    monkeypatch.setattr(file_store, "_RETRY_S", 0.01)
    append, refusals = Log.append_as_follower, [StorageError("no space left"), StorageError("no space left")]

    def append_or_refuse(*arguments, **named):
        if refusals:
            raise refusals.pop()
        append(*arguments, **named)

    async def scenario() -> None:
        store = FileStore(tmp_path, world)
        await store.load()
        monkeypatch.setattr(Log, "append_as_follower", append_or_refuse)
        await store.append(batch_at(0))
        assert (await FileStore(tmp_path, world).load()).batches == (batch_at(0),)

    asyncio.run(scenario())


def test_a_snapshot_that_finds_no_room_is_put_off(tmp_path, world, batch_at, monkeypatch) -> None:
    async def scenario() -> None:
        store = FileStore(tmp_path, world)
        await store.load()
        await store.append(batch_at(0))
        with monkeypatch.context() as patch:
            patch.setattr(file_store, "replace_file", lambda *_, **__: (_ for _ in ()).throw(OSError("no space left")))
            with pytest.raises(StoreUnavailable):
                await store.save_snapshot(Snapshot(1, 1, batch_at(0)))
        await store.append(batch_at(1))
        assert (await FileStore(tmp_path, world).load()).batches == (batch_at(0), batch_at(1))

    asyncio.run(scenario())


def test_a_disk_that_cannot_flush_is_never_trusted_again(tmp_path, world, batch_at, monkeypatch) -> None:
    async def scenario() -> None:
        store = FileStore(tmp_path, world)
        await store.load()
        monkeypatch.setattr(os, "fdatasync", lambda _: (_ for _ in ()).throw(OSError("input/output error")))
        with pytest.raises(StoreBroken, match="disk"):
            await store.append(batch_at(0))

    asyncio.run(scenario())


def test_a_lock_that_is_never_let_go_makes_the_store_unavailable(tmp_path, world, monkeypatch) -> None:
    monkeypatch.setattr(file_store, "_LOCK_WAIT_S_MAX", 0.05)

    async def scenario() -> None:
        fd = os.open(tmp_path / ".lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(fd, fcntl.LOCK_EX)
        store = FileStore(tmp_path, world)
        with pytest.raises(StoreUnavailable):
            await store.load()
        os.close(fd)
        await store.load()

    asyncio.run(scenario())


def test_a_place_that_cannot_hold_a_store_is_one_clear_line(tmp_path, world) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreBroken, match="cannot be used as the metadata store"):
        asyncio.run(FileStore(tmp_path / "file", world).load())


def test_closing_waits_for_an_append_that_nobody_waits_for_any_more(tmp_path, batch_at) -> None:
    """The thread would go on with files that are closed, or with another's that got their numbers."""

    class SlowWorld:
        def __init__(self) -> None:
            self.goes_on = asyncio.Event()

        def now_ms(self) -> int:
            return 0

        async def run_blocking(self, work):
            await self.goes_on.wait()
            return work()

    async def scenario() -> None:
        world = SlowWorld()
        world.goes_on.set()
        store = FileStore(tmp_path, world)
        await store.load()
        world.goes_on.clear()
        appending = asyncio.create_task(store.append(batch_at(0)))
        await asyncio.sleep(0.01)
        appending.cancel()
        await asyncio.wait([appending])
        closing = asyncio.create_task(store.close())
        await asyncio.sleep(0.01)
        assert not closing.done()
        world.goes_on.set()
        await closing
        assert (await FileStore(tmp_path, world).load()).batches == (batch_at(0),)

    asyncio.run(scenario())


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["load", "append", "snapshot"])), max_size=25))
def test_the_store_law_with_three_writers(tmp_path_factory, steps) -> None:
    """Acknowledged appends follow each other without gaps, and a load sees every one of them."""
    from millstream_cluster.ids import ProducerId
    from millstream_cluster.metadata_version import NEWEST
    from millstream_cluster.records import ProducerIdsAllocated
    from millstream_controller.shell.batches import encode_records

    class World:
        def now_ms(self) -> int:
            return 0

        async def run_blocking(self, work):
            return work()

    directory = tmp_path_factory.mktemp("store")

    async def scenario() -> None:
        stores = [FileStore(directory, World()) for _ in range(3)]
        known: list[int | None] = [None, None, None]
        log: list[bytes] = []
        snapshot_end = 0
        for number, (who, what) in enumerate(steps):
            store = stores[who]
            current = known[who] == len(log)
            try:
                if what == "load":
                    loaded = await store.load()
                    assert list(loaded.batches) == log[snapshot_end:]
                    known[who] = len(log)
                elif known[who] is None:
                    continue
                elif what == "append":
                    fact = ProducerIdsAllocated(ProducerId(number + 1))
                    batch = encode_records(
                        [fact], level=NEWEST, base_offset=known[who], epoch=1, timestamp_ms=0, writer=f"{who}:{number}"
                    )
                    await store.append(batch)
                    assert current, "a writer that missed something appended"
                    log.append(batch)
                    known[who] = len(log)
                else:
                    await store.save_snapshot(Snapshot(known[who], 1, b""))
                    assert current
                    snapshot_end = len(log)
                    # Its new segment looks to the others like an append: they may be fenced without need.
                    known = [len(log) if writer == who else None for writer in range(3)]
            except Fenced:
                assert not current, "a writer that missed nothing was fenced"
                known[who] = None
        for store in stores:
            await store.close()

    asyncio.run(scenario())
