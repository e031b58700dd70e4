"""What is produced: by the raw client, which costs next to nothing, and by librdkafka, which people use."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

_CLIENT_TIMEOUT_S = 180


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


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    run: Callable[[str, str, float], Done]
    """Takes the bootstrap address, a fresh topic of one partition, and the share of its full size to run."""


def raw(client: Path, name: str, *, window: int, requests: int, records: int, value_size: int) -> Case:
    def run(bootstrap: str, topic: str, scale: float) -> Done:
        host, port = bootstrap.split(":")
        numbers = [window, max(window, round(requests * scale)), records, value_size]
        command = [str(client), host, port, topic, *map(str, numbers)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=_CLIENT_TIMEOUT_S, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"{name}: {result.stderr.strip()}")
        return Done(**json.loads(result.stdout))

    return Case(name, run)


def librdkafka(name: str, *, messages: int, value_size: int) -> Case:
    def run(bootstrap: str, topic: str, scale: float) -> Done:
        count = round(messages * scale)
        failed: list[object] = []
        config = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        producer = Producer(config | {"queue.buffering.max.messages": 500_000})
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

    return Case(name, run)


def all_cases(client: Path) -> list[Case]:
    return [
        raw(client, "100 B, 1 in flight", window=1, requests=20_000, records=1, value_size=100),
        raw(client, "100 B, 64 in flight", window=64, requests=60_000, records=1, value_size=100),
        raw(client, "16 KB of 1 KiB records, 5 in flight", window=5, requests=20_000, records=15, value_size=1024),
        raw(client, "16 KB of 100 B records, 5 in flight", window=5, requests=20_000, records=145, value_size=100),
        librdkafka("librdkafka, 100 B, linger 5 ms", messages=1_000_000, value_size=100),
    ]
