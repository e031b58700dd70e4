"""How records become batches, and which sequences these carry."""

import asyncio
from collections.abc import Callable
from typing import Any

from millstream_client.assignment import TopicPartition
from millstream_client.batches import NO_IDENTITY, Batch, Delivered, Identity, Lane, size_of
from millstream_wire.records import Compression, Record, decode_batches, parse_header

FIRST = Identity(7, 0)
SECOND = Identity(8, 0)


def in_a_loop(test: Callable[[], None]) -> None:
    async def run() -> None:
        test()

    asyncio.run(run())


def add(lane: Lane, value: str, *, batch_bytes: int = 1000, size: int = 10) -> bool:
    waiting: asyncio.Future[Delivered] = asyncio.get_running_loop().create_future()
    record = Record(0, 5, None, value.encode())
    return lane.add(record, waiting, size=size, batch_bytes=batch_bytes, now_ms=0)


def send(lane: Lane, identity: Identity = FIRST) -> Batch:
    return lane.encode_first(identity, Compression.NONE)


def sent(batch: Batch) -> tuple[int, int, list[Any]]:
    assert batch.encoded is not None
    header = parse_header(batch.encoded)
    return header.producer_id, header.base_sequence, [record.value for record in decode_batches(batch.encoded)]


def lane() -> Lane:
    return Lane(TopicPartition("t", 0))


def test_a_batch_is_ready_once_it_is_full() -> None:
    def test() -> None:
        one = lane()
        assert [add(one, str(n), batch_bytes=30) for n in range(4)] == [False, False, True, True]
        assert [len(batch.records) for batch in one.batches] == [3, 1]

    in_a_loop(test)


def test_a_batch_that_was_sent_takes_no_more() -> None:
    def test() -> None:
        one = lane()
        add(one, "a")
        send(one)
        add(one, "b")
        assert [len(batch.records) for batch in one.batches] == [1, 1]

    in_a_loop(test)


def test_sequences_go_on_and_bytes_stay_the_same_over_attempts() -> None:
    def test() -> None:
        one = lane()
        add(one, "a")
        add(one, "b")
        first = send(one)
        again = send(one, SECOND)
        assert again is first
        assert (first.attempts, sent(first)) == (2, (7, 0, [b"a", b"b"]))
        one.batches.popleft()
        add(one, "c")
        assert sent(send(one)) == (7, 2, [b"c"])

    in_a_loop(test)


def test_a_new_identity_begins_anew() -> None:
    def test() -> None:
        one = lane()
        add(one, "a")
        send(one)
        one.batches.popleft()
        add(one, "b")
        assert sent(send(one, SECOND)) == (8, 0, [b"b"])

    in_a_loop(test)


def test_a_refused_batch_leaves_no_gap() -> None:
    def test() -> None:
        one = lane()
        add(one, "too large")
        one.take_back(send(one))
        one.batches.popleft()
        add(one, "small")
        assert sent(send(one)) == (7, 0, [b"small"])

    in_a_loop(test)


def test_without_an_identity_there_are_no_sequences() -> None:
    def test() -> None:
        one = lane()
        add(one, "a")
        assert sent(send(one, NO_IDENTITY)) == (-1, -1, [b"a"])

    in_a_loop(test)


def test_sizes_are_never_guessed_too_small() -> None:
    headers = (("name", b"content"), ("null", None))
    record = Record(0, 1_800_000_000_000, b"key", b"value" * 100, headers)

    def test() -> None:
        one = lane()
        waiting: asyncio.Future[Delivered] = asyncio.get_running_loop().create_future()
        one.add(record, waiting, size=0, batch_bytes=1, now_ms=0)
        encoded = send(one).encoded
        assert encoded is not None
        assert len(encoded) - 61 <= size_of(record.key, record.value, headers)

    in_a_loop(test)
