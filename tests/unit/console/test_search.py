"""Finding messages: each that is wanted once, in order of its partition, however often the search stops and goes on."""

import asyncio
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from millstream_client.browsing import Piece
from millstream_console.messages.row import Wanted
from millstream_console.messages.search import Lane, Search, lanes_of
from millstream_wire.errors import ErrorCode
from millstream_wire.records import Record, encode_batch, parse_header

Batches = list[bytes]


class Log:
    """Partitions as brokers have them: batches with holes that compaction has left, read a few at a time."""

    def __init__(self, partitions: Mapping[int, Batches], batches_at_once: int) -> None:
        self._partitions = partitions
        self._batches_at_once = batches_at_once
        self.rounds = 0

    def bounds(self) -> dict[int, tuple[int, int]]:
        ends = {
            index: parse_header(batches[-1]).next_offset if batches else 0
            for index, batches in self._partitions.items()
        }
        return {index: (0, end) for index, end in ends.items()}

    async def look(self, offsets: Mapping[int, int], piece_bytes: int) -> dict[int, Piece]:
        """Room for so many batches in an answer: partitions that come late may get nothing."""
        self.rounds += 1
        assert self.rounds < 5_000
        room = self._batches_at_once
        found = {}
        for index, offset in offsets.items():
            left = [each for each in self._partitions[index] if parse_header(each).last_offset >= offset]
            found[index] = Piece(ErrorCode.NONE, memoryview(b"".join(left[:room])), 0, 0)
            room -= len(left[:room])
        return found


@st.composite
def partitions(draw: st.DrawFn) -> dict[int, Batches]:
    made: dict[int, Batches] = {}
    for index in range(draw(st.integers(1, 4))):
        offset = 0
        made[index] = []
        for _ in range(draw(st.integers(0, 6))):
            offset += draw(st.integers(0, 9))
            kept = []
            for _ in range(draw(st.integers(1, 5))):
                value = draw(st.sampled_from([b"red", b"green"]))
                kept.append(Record(offset, draw(st.integers(0, 50)), None, value))
                offset += draw(st.integers(1, 3))
            made[index].append(encode_batch(kept, base_offset=kept[0].offset, keep_offsets=True))
            offset = kept[-1].offset + 1
    return made


def offsets_in(batches: Batches, colour: bytes) -> list[int]:
    found = []
    for batch in batches:
        piece = Piece(ErrorCode.NONE, memoryview(batch), 0, 0)
        found += [each.record.offset for each in piece.records(0) if colour in (each.record.value or b"")]
    return found


@given(partitions(), st.booleans(), st.integers(1, 7), st.integers(1, 4), st.sampled_from([b"", b"red", b"blue"]))
def test_everything_is_found_once_however_often_it_goes_on(
    made: dict[int, Batches], forwards: bool, limit: int, at_once: int, colour: bytes
) -> None:
    log = Log(made, at_once)
    bounds = log.bounds()
    rows = []
    while True:
        lanes = lanes_of(bounds, forwards=forwards, limit=limit)
        found = asyncio.run(Search(log.look, lanes, Wanted(value=colour), limit, lambda: 0).run())
        rows += found.rows
        assert len(found.rows) <= limit
        assert found.failed == {}
        if found.go_on is None:
            break
        assert found.rows
        for index, offset in found.go_on.items():
            first, end = bounds[index]
            bounds[index] = (offset, end) if forwards else (first, offset)
    for index, batches in made.items():
        offsets = [row["offset"] for row in rows if row["partition"] == index]
        assert offsets == offsets_in(batches, colour)[:: 1 if forwards else -1]


@given(partitions(), st.booleans())
def test_where_times_only_rise_partitions_are_merged_by_them(made: dict[int, Batches], forwards: bool) -> None:
    risen: dict[int, Batches] = {}
    for index, batches in made.items():
        risen[index] = []
        for batch in batches:
            records = [each.record for each in Piece(ErrorCode.NONE, memoryview(batch), 0, 0).records(0)]
            timed = [Record(each.offset, each.offset, None, each.value) for each in records]
            risen[index].append(encode_batch(timed, base_offset=timed[0].offset, keep_offsets=True))
    log = Log(risen, 3)
    lanes = lanes_of(log.bounds(), forwards=forwards, limit=500)
    times = [row["timestamp"] for row in asyncio.run(Search(log.look, lanes, Wanted(), 500, lambda: 0).run()).rows]
    assert times == sorted(times, reverse=not forwards)


def test_a_spent_budget_ends_a_search_that_finds_nothing_and_it_goes_on_there() -> None:
    batches = [encode_batch([Record(0, 0, None, b"green")], base_offset=offset) for offset in range(100)]
    log = Log({0: batches}, 1)
    clock = iter(range(0, 1_000_000, 1_000))
    lanes = lanes_of(log.bounds(), forwards=True, limit=10)
    found = asyncio.run(Search(log.look, lanes, Wanted(value=b"red"), 10, lambda: next(clock)).run())
    assert found.rows == []
    assert found.go_on is not None
    assert 0 < found.go_on[0] == found.scanned < 100


def test_a_partition_without_a_leader_does_not_keep_the_others() -> None:
    log = Log({0: [encode_batch([Record(0, 0, None, b"here")])]}, 1)

    async def look(offsets: Mapping[int, int], piece_bytes: int) -> dict[int, Piece]:
        return await log.look({index: offset for index, offset in offsets.items() if index == 0}, piece_bytes)

    lanes = lanes_of({0: (0, 1), 1: (0, 5)}, forwards=True, limit=10)
    found = asyncio.run(Search(look, lanes, Wanted(), 10, lambda: 0).run())
    assert [row["partition"] for row in found.rows] == [0]
    assert found.failed == {1: ErrorCode.LEADER_NOT_AVAILABLE}


def test_what_retention_took_meanwhile_is_passed_over() -> None:
    lane = Lane(0, first=0, end=10, forwards=True, window=10)
    lane.take_in(Piece(ErrorCode.OFFSET_OUT_OF_RANGE, memoryview(b""), 7, 10), Wanted())
    assert lane.failed is None
    assert lane.asks_from == 7


def test_forwards_no_more_is_held_than_is_wanted() -> None:
    """One piece of small messages may hold a million."""
    batch = encode_batch([Record(offset, 0, None, b"green") for offset in range(1_000)], base_offset=0)
    log = Log({0: [batch]}, 1)
    lanes = lanes_of(log.bounds(), forwards=True, limit=10)
    lanes[0].take_in(asyncio.run(log.look({0: 0}, 1 << 20))[0], Wanted())
    assert len(lanes[0].held) == 10
    assert lanes[0].scanned == 10
