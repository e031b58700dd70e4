"""What is produced and fetched: by the raw client, which costs next to nothing, and by librdkafka, which people use."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

_CLIENT_TIMEOUT_S = 180

Client = Mapping[str, str | int | bool]
"""How to connect, in librdkafka's words: the address, and what a login takes."""


@dataclass(frozen=True, slots=True)
class Done:
    """One run of a case as its client saw it."""

    requests: int | None
    """None where the client alone decides how many requests its records make."""
    record_bytes: int
    seconds: float
    client_cpu_s: float
    p50_ms: float | None = None
    p99_ms: float | None = None
    first_ack_s: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    run: Callable[[Client, str, float], Done]
    """Takes how to connect, a fresh topic of one partition, and the share of its full size to run."""
    prepare: Callable[[Client, str, float], object] = lambda client, topic, scale: None
    """The same before it is measured: fills the topic where reading is what counts."""
    has_floor: bool = False
    """What the machine takes for it weighs as much as the server: it is measured beside the least that a server can do."""


def raw(
    program: Path,
    name: str,
    *,
    window: int,
    requests: int,
    records: int,
    value_size: int,
    acks: int = 1,
    has_floor: bool = False,
) -> Case:
    def run(client: Client, topic: str, scale: float) -> Done:
        host, port = _leader(client, topic)
        numbers = [window, max(window, round(requests * scale)), records, value_size, acks]
        login = [client["sasl.username"], client["sasl.password"]] if "sasl.username" in client else []
        command = [str(program), host, port, topic, *map(str, numbers), *map(str, login)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=_CLIENT_TIMEOUT_S, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"{name}: {result.stderr.strip()}")
        return Done(**json.loads(result.stdout))

    return Case(name, run, has_floor=has_floor)


def _leader(client: Client, topic: str) -> tuple[str, str]:
    bootstrap = str(client["bootstrap.servers"])
    if "," in bootstrap:
        metadata = AdminClient({**client, "log_level": 0}).list_topics(topic, timeout=10)
        broker = metadata.brokers[metadata.topics[topic].partitions[0].leader]
        return broker.host, str(broker.port)
    host, _, port = bootstrap.partition(":")
    return host, port


def librdkafka(name: str, *, messages: int, value_size: int, has_floor: bool = False) -> Case:
    def run(client: Client, topic: str, scale: float) -> Done:
        count = round(messages * scale)
        failed: list[object] = []
        config = {"enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        producer = Producer({**client, **config, "queue.buffering.max.messages": 500_000})
        value = bytes(97 + i % 26 for i in range(value_size))
        cpu_before, started = os.times(), time.monotonic()
        for _ in range(count):
            while True:
                try:
                    producer.produce(
                        topic, value, partition=0, on_delivery=lambda e, _: failed.append(e) if e else None
                    )
                    break
                except BufferError:
                    producer.poll(0.01)
        left = producer.flush(_CLIENT_TIMEOUT_S)
        seconds, cpu_after = time.monotonic() - started, os.times()
        if left or failed:
            raise RuntimeError(f"{name}: {left} messages unsent, {len(failed)} failed: {failed[:1]}")
        client_cpu_s = cpu_after.user + cpu_after.system - cpu_before.user - cpu_before.system
        return Done(None, count * value_size, seconds, client_cpu_s)

    return Case(name, run, has_floor=has_floor)


def fetch_back(name: str, *, messages: int, value_size: int, passes: int) -> Case:
    """librdkafka reads what librdkafka has produced, from the start to the end, `passes` times."""

    def run(client: Client, topic: str, scale: float) -> Done:
        count = round(messages * scale)
        consumer = Consumer(_reader(client))
        cpu_before, started = os.times(), time.monotonic()
        for _ in range(passes):
            consumer.assign([TopicPartition(topic, 0, 0)])
            deadline, left = time.monotonic() + _CLIENT_TIMEOUT_S, count
            while left > 0:
                left -= len(_read(consumer))
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{name}: {left} messages never came")
            consumer.unassign()
        seconds, cpu_after = time.monotonic() - started, os.times()
        consumer.close()
        client_cpu_s = cpu_after.user + cpu_after.system - cpu_before.user - cpu_before.system
        return Done(None, passes * count * value_size, seconds, client_cpu_s)

    return Case(name, run, librdkafka(name, messages=messages, value_size=value_size).run)


def end_to_end(name: str, *, records_per_second: int, seconds: float, value_size: int) -> Case:
    """From `produce` with acks=all to its arrival at a consumer, both librdkafka and neither lingering.

    The first second is not counted: until the clients have found the leader and connected to it, what they are given waits in them.
    """

    def run(client: Client, topic: str, scale: float) -> Done:
        lead = records_per_second
        count = lead + max(100, round(records_per_second * seconds * scale))
        producer = Producer({**client, "acks": "all", "linger.ms": 0, "log_level": 0})
        consumer = Consumer(_reader(client))
        consumer.assign([TopicPartition(topic, 0, 0)])
        latencies_ms: list[float] = []
        reading = threading.Thread(target=_note_latencies, args=(consumer, count, latencies_ms))
        cpu_before, started = os.times(), time.monotonic()
        reading.start()
        rest = bytes(value_size - _sent.size)
        for number in range(count):
            time.sleep(max(0.0, started + number / records_per_second - time.monotonic()))
            producer.produce(topic, _sent.pack(time.monotonic()) + rest, partition=0)
            producer.poll(0)
        left = producer.flush(_CLIENT_TIMEOUT_S)
        reading.join()
        took, cpu_after = time.monotonic() - started, os.times()
        consumer.close()
        if left or len(latencies_ms) < count:
            raise RuntimeError(f"{name}: {left} messages unsent, {len(latencies_ms)} of {count} came")
        counted = sorted(latencies_ms[lead:])
        client_cpu_s = cpu_after.user + cpu_after.system - cpu_before.user - cpu_before.system
        p50_ms, p99_ms = counted[len(counted) // 2], counted[len(counted) * 99 // 100]
        return Done(None, count * value_size, took, client_cpu_s, p50_ms, p99_ms)

    return Case(name, run)


_sent = Struct(">d")


def _note_latencies(consumer: Consumer, count: int, latencies_ms: list[float]) -> None:
    deadline = time.monotonic() + _CLIENT_TIMEOUT_S
    while len(latencies_ms) < count and time.monotonic() < deadline:
        for message in _read(consumer, at_most=1):
            latencies_ms.append((time.monotonic() - _sent.unpack_from(message.value() or b"")[0]) * 1000)


def _reader(client: Client) -> dict[str, str | int | bool]:
    return {**client, "group.id": "bench", "enable.auto.commit": False, "log_level": 0}


def _read(consumer: Consumer, at_most: int = 10_000) -> list[Message]:
    messages = consumer.consume(at_most, 0.5)
    for message in messages:
        error = message.error()
        if error is not None:
            raise KafkaException(error)
    return messages


def all_cases(program: Path) -> list[Case]:
    return [
        raw(program, "100 B, 1 in flight", window=1, requests=20_000, records=1, value_size=100, has_floor=True),
        raw(program, "100 B, 64 in flight", window=64, requests=60_000, records=1, value_size=100),
        raw(program, "16 KB of 1 KiB records, 5 in flight", window=5, requests=20_000, records=15, value_size=1024),
        raw(program, "16 KB of 100 B records, 5 in flight", window=5, requests=20_000, records=145, value_size=100),
        raw(program, "1 MB of 1 KiB records, 5 in flight", window=5, requests=300, records=980, value_size=1024),
        librdkafka("librdkafka, 100 B, linger 5 ms", messages=3_000_000, value_size=100),
        librdkafka("librdkafka, 1 KiB, linger 5 ms", messages=300_000, value_size=1024),
        fetch_back("fetching 100 B back, librdkafka", messages=1_000_000, value_size=100, passes=3),
        fetch_back("fetching 1 KiB back, librdkafka", messages=300_000, value_size=1024, passes=3),
        end_to_end("end to end at 1,000/s, librdkafka", records_per_second=1_000, seconds=10, value_size=100),
        end_to_end("end to end at 10,000/s, librdkafka", records_per_second=10_000, seconds=5, value_size=100),
    ]


def replicated_cases(program: Path) -> list[Case]:
    """On three brokers, each record on all of them before it is acknowledged."""
    return [
        raw(program, "100 B, 1 in flight", window=1, requests=10_000, records=1, value_size=100, acks=-1),
        raw(program, "100 B, 64 in flight", window=64, requests=60_000, records=1, value_size=100, acks=-1),
        raw(
            program,
            "16 KB of 1 KiB records, 5 in flight",
            window=5,
            requests=10_000,
            records=15,
            value_size=1024,
            acks=-1,
        ),
        librdkafka("librdkafka, 100 B, linger 5 ms", messages=1_000_000, value_size=100),
        librdkafka("librdkafka, 1 KiB, linger 5 ms", messages=200_000, value_size=1024),
        fetch_back("fetching 1 KiB back, librdkafka", messages=200_000, value_size=1024, passes=3),
        end_to_end("end to end at 1,000/s, librdkafka", records_per_second=1_000, seconds=10, value_size=100),
        end_to_end("end to end at 10,000/s, librdkafka", records_per_second=10_000, seconds=5, value_size=100),
    ]


def login_cases(program: Path) -> list[Case]:
    """What a login and ACLs cost those who have logged in: nothing but what is looked up for each request."""
    return [
        raw(program, "100 B, 1 in flight", window=1, requests=20_000, records=1, value_size=100),
        raw(program, "100 B, 64 in flight", window=64, requests=60_000, records=1, value_size=100),
    ]
