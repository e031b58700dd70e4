"""Transactions as unmodified clients use them: all or nothing, one producer per id, each result once whatever dies."""

import asyncio
import contextlib
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import exactly_once
import pytest
import servers
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AIOTopicPartition
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from exactly_once import PARTITIONS, TIMEOUT_S, Worker, results
from kafka_tools import run_tool

RECORDS = 900
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")


def create(bootstrap: str, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics]).values():
        future.result(TIMEOUT_S)


def producer(bootstrap: str, topic: str, **settings: object) -> Producer:
    made = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"x-{topic}", **settings})
    made.init_transactions(TIMEOUT_S)
    return made


def write(made: Producer, topic: str, *values: str) -> None:
    for number, value in enumerate(values):
        made.produce(topic, value.encode(), partition=number % PARTITIONS)
    assert made.flush(TIMEOUT_S) == 0


def test_a_transaction_is_seen_whole_or_not_at_all(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    made = producer(bootstrap, topic)
    for number in range(4):
        made.begin_transaction()
        write(made, topic, *(f"{number}-{n}" for n in range(6)))
        if number % 2:
            made.abort_transaction(TIMEOUT_S)
        else:
            made.commit_transaction(TIMEOUT_S)
    made.begin_transaction()
    write(made, topic, "undecided")
    expected = Counter(f"{number}-{n}".encode() for number in (0, 2) for n in range(6))
    assert results(bootstrap, topic, len(expected)) == expected
    made.abort_transaction(TIMEOUT_S)


def test_a_newer_producer_silences_the_one_before_it(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    zombie = producer(bootstrap, topic)
    zombie.begin_transaction()
    write(zombie, topic, "zombie")
    newer = producer(bootstrap, topic)
    newer.begin_transaction()
    write(newer, topic, "newer")
    newer.commit_transaction(TIMEOUT_S)
    with pytest.raises(KafkaException) as caught:
        zombie.commit_transaction(TIMEOUT_S)
    assert caught.value.args[0].fatal()
    assert results(bootstrap, topic, 1) == Counter([b"newer"])


def test_a_transaction_that_takes_too_long_is_aborted(fresh: Path, topic: str) -> None:
    settings = ("transaction.abort.timed.out.transaction.cleanup.interval.ms=200",)
    with servers.node(fresh, *settings) as running:
        create(running.bootstrap, topic)
        made = producer(running.bootstrap, topic, **{"transaction.timeout.ms": 1_000, "message.timeout.ms": 1_000})
        made.begin_transaction()
        write(made, topic, "late")
        other = producer(running.bootstrap, f"{topic}-other")
        other.begin_transaction()
        write(other, topic, "in time")
        other.commit_transaction(TIMEOUT_S)
        # Readers wait behind the late one until it is aborted.
        assert results(running.bootstrap, topic, 1) == Counter([b"in time"])
        with pytest.raises(KafkaException):
            made.commit_transaction(TIMEOUT_S)


def fill(bootstrap: str, topic: str) -> Counter[bytes]:
    made = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    values = [f"{n}".encode() for n in range(RECORDS)]
    for number, value in enumerate(values):
        made.produce(topic, value, partition=number % PARTITIONS)
    assert made.flush(TIMEOUT_S) == 0
    return Counter(values)


def test_offsets_and_results_are_committed_together(bootstrap: str, topic: str) -> None:
    source, target = f"{topic}-source", f"{topic}-target"
    create(bootstrap, source, target)
    expected = fill(bootstrap, source)
    with Worker(bootstrap, source, target) as worker:
        worker.wait_for(RECORDS // 3)
    with Worker(bootstrap, source, target) as again:
        again.wait_for(RECORDS - worker.committed)
    assert results(bootstrap, target, RECORDS) == expected
    assert worker.failures == again.failures == []


def test_each_result_once_while_the_node_and_the_worker_are_killed(fresh: Path, topic: str) -> None:
    """A worker that outlives the only node proves nothing more: librdkafka's calls do not always return from that."""
    source, target = f"{topic}-source", f"{topic}-target"
    with servers.node(fresh) as running:
        bootstrap = running.bootstrap
        create(bootstrap, source, target)
        expected = fill(bootstrap, source)
        for round_number in range(1, 4):
            with worker_process(bootstrap, source, target):
                least = RECORDS * round_number // 8
                servers.eventually(lambda least=least: at_least(bootstrap, target, least), within_s=120)
                running.kill()
            running.start()
        with worker_process(bootstrap, source, target):
            servers.eventually(lambda: complete(bootstrap, target, expected), within_s=180, every_s=1)
        assert results(bootstrap, target, RECORDS) == expected
        assert running.stop() == 0


@contextlib.contextmanager
def worker_process(bootstrap: str, source: str, target: str) -> Iterator[None]:
    """A worker that ends by kill -9, whatever it is doing."""
    process = subprocess.Popen([sys.executable, exactly_once.__file__, bootstrap, source, target])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def at_least(bootstrap: str, topic: str, count: int) -> None:
    assert results(bootstrap, topic, count, within_s=5).total() >= count


@pytest.mark.parametrize("victims", [("coordinator-1", "coordinator-2"), ("broker-1", "broker-2", "broker-3")])
def test_each_result_once_while_processes_are_killed(fresh: Path, topic: str, victims: tuple[str, ...]) -> None:
    source, target = f"{topic}-source", f"{topic}-target"
    with servers.cluster(fresh) as running:
        bootstrap = running.bootstrap
        create(bootstrap, source, target)
        expected = fill(bootstrap, source)
        with Worker(bootstrap, source, target) as worker:
            for victim in victims:
                worker.wait_for(worker.committed + RECORDS // 8)
                running.kill(victim)
                running.restart(victim)
            servers.eventually(lambda: complete(bootstrap, target, expected), within_s=180, every_s=1)
        assert results(bootstrap, target, RECORDS) == expected


def complete(bootstrap: str, topic: str, expected: Counter[bytes]) -> None:
    assert results(bootstrap, topic, RECORDS, within_s=20).keys() == expected.keys()


def test_aiokafka_transactions(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)

    async def main() -> list[bytes]:
        made = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"x-{topic}")
        await made.start()
        async with made.transaction():
            await made.send_and_wait(topic, b"kept", partition=0)
        await made.begin_transaction()
        await made.send_and_wait(topic, b"dropped", partition=0)
        await made.abort_transaction()
        async with made.transaction():
            await made.send_and_wait(topic, b"kept too", partition=0)
            await made.send_offsets_to_transaction({AIOTopicPartition(topic, 0): 2}, f"g-{topic}")
        await made.stop()
        reader = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=f"g-{topic}",
            isolation_level="read_committed",
            enable_auto_commit=False,
        )
        await reader.start()
        try:
            partition = AIOTopicPartition(topic, 0)
            reader.assign([partition])
            assert await reader.committed(partition) == 2
            reader.seek(partition, 0)
            return [(await asyncio.wait_for(reader.getone(), TIMEOUT_S)).value for _ in range(2)]
        finally:
            await reader.stop()

    assert asyncio.run(main()) == [b"kept", b"kept too"]


@needs_java
def test_the_java_producer_writes_transactions(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--num-records", "2000", "--record-size", "50"]
    arguments += ["--throughput", "-1", "--transactional-id", f"x-{topic}", "--transaction-duration-ms", "50"]
    result = run_tool("kafka-producer-perf-test", arguments, timeout_s=90)
    assert result.returncode == 0, result.stdout + result.stderr
    assert results(bootstrap, topic, 2000).total() == 2000


@needs_java
def test_kafkas_tool_finds_and_aborts_transactions(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    made = producer(bootstrap, topic)
    made.begin_transaction()
    write(made, topic, "left open")

    def tool(*arguments: str) -> str:
        result = run_tool("kafka-transactions", ["--bootstrap-server", bootstrap, *arguments], timeout_s=90)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    assert re.search(rf"x-{topic}\s+\d+\s+\d+\s+Ongoing", tool("list"))
    assert f"{topic}-0" in tool("describe", "--transactional-id", f"x-{topic}")
    producers = tool("describe-producers", "--topic", topic, "--partition", "0").splitlines()
    assert producers[1].split()[-1] == "0"
    tool("find-hanging", "--topic", topic)
    tool("abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    producers = tool("describe-producers", "--topic", topic, "--partition", "0").splitlines()
    assert producers[1].split()[-1] == "None"
