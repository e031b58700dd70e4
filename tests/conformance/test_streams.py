"""Never-ending message streams in plain Python, against our servers and Apache Kafka alike."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
from confluent_kafka import Producer as ConfluentProducer

from millstream import MessageStream, streams
from millstream_client import Consumer, Delivered, Producer, ProducerConfig, Refused, Unreachable, open_cluster
from millstream_client.admin import create_topic
from millstream_client.message import Message

TIMEOUT_S = 40


def create(bootstrap: str, topic: str, partitions: int) -> None:
    async def work() -> None:
        async with open_cluster(bootstrap) as cluster:
            await create_topic(cluster, topic, partitions=partitions)

    asyncio.run(work())
    servers.eventually(lambda: produce(bootstrap, topic, 0))


def produce(bootstrap: str, topic: str, count: int, *, first: int = 0) -> None:
    async def work() -> None:
        async with open_cluster(bootstrap) as cluster, Producer(cluster) as producer:
            for n in range(first, first + count):
                await producer.send(topic, str(n).encode())

    asyncio.run(work())


def values(messages: list[Message]) -> list[int]:
    return sorted(int(message.value) for message in messages)


def take(stream: MessageStream, count: int) -> list[Message]:
    """So many messages, and no hanging test."""
    taken = []
    for _ in range(count):
        message = stream.next(TIMEOUT_S)
        assert message is not None, f"{len(taken)} of {count} messages came"
        taken.append(message)
    return taken


class Readers:
    """A thread per stream that reads until the stream is closed."""

    def __init__(self, opened: list[MessageStream]) -> None:
        self.seen: list[list[Message]] = [[] for _ in opened]
        self._threads = [
            threading.Thread(target=self._read, args=(stream, seen))
            for stream, seen in zip(opened, self.seen, strict=True)
        ]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _read(stream: MessageStream, seen: list[Message]) -> None:
        seen.extend(iter(stream))  # extend takes them one by one, as they come

    @property
    def all(self) -> list[Message]:
        return [message for seen in self.seen for message in seen]

    def have(self, count: int) -> None:
        assert len(self.all) >= count

    def join(self) -> None:
        for thread in self._threads:
            thread.join(TIMEOUT_S)
            assert not thread.is_alive()


@contextlib.contextmanager
def reading(opened: list[MessageStream]) -> Iterator[Readers]:
    readers = Readers(opened)
    try:
        yield readers
    finally:
        opened[0].close()
        readers.join()


def test_a_topic_is_split_evenly_and_never_ends(anywhere: str, topic: str) -> None:
    create(anywhere, topic, 6)
    produce(anywhere, topic, 600)
    with reading(list(streams(topic, 3, bootstrap=anywhere))) as readers:
        servers.eventually(lambda: readers.have(600))
        produce(anywhere, topic, 60, first=600)
        servers.eventually(lambda: readers.have(660))
    assert values(readers.all) == list(range(660))
    assert [sorted({message.partition for message in seen}) for seen in readers.seen] == [[0, 3], [1, 4], [2, 5]]
    for seen in readers.seen:
        for partition in {message.partition for message in seen}:
            offsets = [message.offset for message in seen if message.partition == partition]
            assert offsets == list(range(len(offsets)))


def test_formats_and_headers(anywhere: str, topic: str) -> None:
    create(anywhere, topic, 1)
    theirs = ConfluentProducer({"bootstrap.servers": anywhere})
    theirs.produce(topic, key=b"\0\0\0\7", value='{"a": [1]}', headers={"h": b"x"}, timestamp=1700000000000)
    assert theirs.flush(TIMEOUT_S) == 0
    with streams(topic, bootstrap=anywhere, key="int", value="json") as (stream,):
        assert take(stream, 1) == [Message(topic, 0, 0, 1700000000000, 7, {"a": [1]}, (("h", b"x"),))]


def test_only_what_comes_after_opening(anywhere: str, topic: str) -> None:
    create(anywhere, topic, 2)
    produce(anywhere, topic, 10)
    with streams(topic, bootstrap=anywhere, start="latest") as (stream,):
        assert stream.next(1) is None
        produce(anywhere, topic, 5, first=10)
        assert values(take(stream, 5)) == [10, 11, 12, 13, 14]


def test_a_message_is_done_when_the_next_is_asked_for(anywhere: str, topic: str) -> None:
    create(anywhere, topic, 1)
    produce(anywhere, topic, 10)
    with streams(topic, bootstrap=anywhere, group=f"g-{topic}") as (stream,):
        assert values(take(stream, 4)) == [0, 1, 2, 3]
    with streams(topic, bootstrap=anywhere, group=f"g-{topic}") as (stream,):
        assert values(take(stream, 7)) == [3, 4, 5, 6, 7, 8, 9]


def test_at_most_once_loses_rather_than_repeats(anywhere: str, topic: str) -> None:
    create(anywhere, topic, 1)
    produce(anywhere, topic, 10)
    with streams(topic, bootstrap=anywhere, group=f"g-{topic}", commit="before") as (stream,):
        assert values(take(stream, 1)) == [0]
    produce(anywhere, topic, 1, first=10)
    with streams(topic, bootstrap=anywhere, group=f"g-{topic}", commit="before") as (stream,):
        assert values(take(stream, 1)) == [10]


def test_committing_by_hand_includes_the_message_in_hand(anywhere: str, topic: str) -> None:
    create(anywhere, topic, 1)
    produce(anywhere, topic, 10)
    with streams(topic, bootstrap=anywhere, group=f"g-{topic}", commit="manual") as (stream,):
        take(stream, 3)
        stream.commit()
        take(stream, 3)
    with streams(topic, bootstrap=anywhere, group=f"g-{topic}", commit="manual") as (stream,):
        assert values(take(stream, 7)) == [3, 4, 5, 6, 7, 8, 9]


def test_a_group_shares_and_takes_over(anywhere: str, topic: str) -> None:
    create(anywhere, topic, 4)
    first = streams(topic, bootstrap=anywhere, group=f"g-{topic}")
    second = streams(topic, 2, bootstrap=anywhere, group=f"g-{topic}")
    with reading(list(first)) as early:
        produce(anywhere, topic, 40)
        servers.eventually(lambda: early.have(40))
        with reading(list(second)) as late:
            produced = 40

            def all_have_some() -> None:
                nonlocal produced
                produce(anywhere, topic, 40, first=produced)
                produced += 40
                assert all(late.seen)

            servers.eventually(all_have_some)
            assert {message.partition for message in late.seen[0]}.isdisjoint(
                {message.partition for message in late.seen[1]}
            )
            servers.eventually(lambda: everything_was_seen(early, late, produced))
        produce(anywhere, topic, 40, first=produced)
        servers.eventually(lambda: everything_was_seen(early, late, produced + 40))


def everything_was_seen(early: Readers, late: Readers, count: int) -> None:
    """At least once: a rebalance may bring some of it twice."""
    assert set(values(early.all + late.all)) == set(range(count))


def test_aborted_transactions_are_left_out(kafka: servers.ServerProcess, topic: str) -> None:
    create(kafka.bootstrap, topic, 1)
    theirs = ConfluentProducer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    theirs.init_transactions(TIMEOUT_S)
    for number, end in enumerate([theirs.abort_transaction, theirs.commit_transaction, theirs.abort_transaction]):
        theirs.begin_transaction()
        theirs.produce(topic, value=str(number))
        theirs.flush(TIMEOUT_S)
        end(TIMEOUT_S)
    produce(kafka.bootstrap, topic, 1, first=3)
    with streams(topic, bootstrap=kafka.bootstrap, committed_only=True) as (stream,):
        assert values(take(stream, 2)) == [1, 3]
    with streams(topic, bootstrap=kafka.bootstrap) as (stream,):
        assert values(take(stream, 4)) == [0, 1, 2, 3]


def test_the_same_for_asyncio(anywhere: str, topic: str) -> None:
    create(anywhere, topic, 2)
    produce(anywhere, topic, 20)

    async def read() -> list[Message]:
        seen: list[Message] = []
        async with open_cluster(anywhere) as cluster, Consumer(cluster, [topic]) as consumer:
            async for message in consumer:
                seen.append(message)
                if len(seen) == 20:
                    break
        return seen

    assert values(asyncio.run(read())) == list(range(20))


def test_what_cannot_be_opened(node: servers.ServerProcess, topic: str) -> None:
    with pytest.raises(Refused, match="UNKNOWN_TOPIC_OR_PARTITION"):
        streams(topic, bootstrap=node.bootstrap)
    with pytest.raises(Unreachable, match="Connection refused"):
        streams(topic, bootstrap="127.0.0.1:1")


def test_streams_and_producer_outlive_their_server(fresh: Path, topic: str) -> None:
    """Killed five times under load: everything is there, once and in order, and the streams notice nothing."""
    with servers.node(fresh) as node:
        create(node.bootstrap, topic, 3)
        members = streams(topic, 2, bootstrap=node.bootstrap, group=f"g-{topic}")
        with reading(list(streams(topic, 2, bootstrap=node.bootstrap))) as readers, reading(list(members)) as group:
            sent = asyncio.run(produce_over_kills(node, topic))
            servers.eventually(lambda: readers.have(len(sent)))
            servers.eventually(lambda: everything_was_seen(group, group, len(sent)))
    assert len({(each.partition, each.offset) for each in sent if each.offset >= 0}) > 0
    assert values(readers.all) == list(range(len(sent)))
    for seen in readers.seen:
        for partition in {message.partition for message in seen}:
            numbers = [int(message.value) for message in seen if message.partition == partition]
            assert numbers == sorted(numbers)


async def produce_over_kills(node: servers.ServerProcess, topic: str) -> list[Delivered]:
    sent: list[asyncio.Future[Delivered]] = []
    stop = asyncio.Event()
    async with (
        open_cluster(node.bootstrap) as cluster,
        Producer(cluster, ProducerConfig(request_timeout_ms=5_000)) as producer,
        asyncio.TaskGroup() as tasks,
    ):

        async def load() -> None:
            while not stop.is_set():
                number = len(sent)
                sent.append(await producer.send(topic, str(number).encode()))
                await asyncio.sleep(0.001)

        tasks.create_task(load())
        for _ in range(5):
            await asyncio.sleep(0.5)
            await asyncio.to_thread(node.kill)
            await asyncio.to_thread(node.start)
        await asyncio.sleep(0.5)
        stop.set()
    return [each.result() for each in sent]
