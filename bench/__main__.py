"""Our node beside Apache Kafka on this machine: `make bench`. How to read what it prints: bench/README.md."""

import argparse
import dataclasses
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from itertools import count
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "conformance")]

from cases import Case, Done, all_cases, login_cases, replicated_cases  # noqa: E402
from catch_up import CATCH_UP_CASE, measure_catch_up  # noqa: E402
from confluent_kafka import KafkaException, Producer, TopicPartition  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # noqa: E402
from consume import CONSUME_CASE, measure_consume  # noqa: E402
from floor import Floor  # noqa: E402
from groups import GROUPS_CASE, measure_groups  # noqa: E402
from kafka_cluster import BROKERS  # noqa: E402
from kafka_tools import KAFKA_VERSION, KafkaUnavailable  # noqa: E402
from logins import LoggedIn  # noqa: E402
from report import Measurement, table  # noqa: E402
from retained import RETAINED_CASE, measure_retained  # noqa: E402
from servers import Kafka, KafkaOfThree, Millstream, MillstreamCluster, Server  # noqa: E402
from tls import Tls, tls_cases  # noqa: E402
from tls_floor import WAYS, TlsFloor  # noqa: E402
from topics import create  # noqa: E402
from usage import machine_busy_s, usage_of  # noqa: E402

from millstream_runtime.builds import records_build  # noqa: E402

START = "from start to the first acknowledged record"
_SETTLE_S = 0.3  # what a server does for a request after it has answered belongs to that request

_topic_numbers = count(1)


def main() -> int:
    options = _options()
    if shutil.which("cc") is None:
        print("bench: needs a C compiler (cc) for the raw client", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="millstream-bench-", dir=options.directory) as scratch:
        directory = Path(scratch)
        tls = Tls.make(directory / "certificates") if options.tls else None
        made = login_cases if options.logins else replicated_cases if options.brokers == BROKERS else all_cases
        every = tls_cases(tls) if tls is not None else made(_compile_client(directory))
        cases = [case for case in every if options.only in case.name]
        if (cases or options.only in START) and not _compare_and_report(directory, cases, options, tls):
            return 2
        if tls is not None or options.logins:
            return 0
        if options.only in GROUPS_CASE and options.brokers == 1:
            _say(GROUPS_CASE)
            measure_groups(directory / "groups", options.scale, options.rounds)
        if options.only and options.only in RETAINED_CASE:  # it takes that much of a disk, and minutes
            measure_retained(directory, _compile_client(directory), options.scale, options.rounds, _say)
        if options.only and options.only in CONSUME_CASE:
            measure_consume(directory / "consume", options.before, options.scale, options.rounds, _say)
        if options.only and options.only in CATCH_UP_CASE:  # it takes three times as much
            measure_catch_up(directory, options.scale, options.rounds, _say)
    return 0


def _compare_and_report(directory: Path, cases: list[Case], options: argparse.Namespace, tls: Tls | None) -> bool:
    """Whether it could be done."""
    servers = _servers(directory, options, tls)
    floors = _floors(directory / "floor", tls)
    measurements: list[Measurement] = []
    try:
        _compare(servers, floors, cases, options, measurements)
    except KafkaUnavailable as reason:
        print(f"bench: {reason}", file=sys.stderr)
        return False
    finally:
        for server in (*servers, *floors):
            server.stop()
        baseline = servers[-1].name
        if any(measurement.server == baseline for measurement in measurements):  # also of a run that broke off
            print(_about(options.rounds, baseline))
            print(table(measurements, baseline))
    if options.json:
        options.json.write_text(json.dumps([dataclasses.asdict(m) for m in measurements], indent=1))
    return True


def _servers(directory: Path, options: argparse.Namespace, tls: Tls | None) -> list[Server]:
    if tls is not None:
        ours = Millstream(directory / "millstream", tls.server, client=tls.client)
        return [ours, Kafka(directory / "kafka", tls.server, client=tls.client)]
    if options.logins:
        return [LoggedIn(directory / "logged-in"), Millstream(directory / "millstream")]
    node, kafka = (MillstreamCluster, KafkaOfThree) if options.brokers == BROKERS else (Millstream, Kafka)
    servers: list[Server] = [node(directory / "millstream")]
    servers += [node(directory / "plain", plain=True)] if options.plain else []
    servers += [node(directory / "before", program=options.before)] if options.before else []
    return [*servers, kafka(directory / "kafka")]


def _floors(directory: Path, tls: Tls | None) -> list[Server]:
    if tls is None:
        return [Floor(directory)]
    return [TlsFloor(way, directory, tls.server["ssl.keystore.location"], tls.client) for way in WAYS]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument(
        "--brokers", type=int, choices=(1, BROKERS), default=1, help="3: every partition on three of them, acks=all"
    )
    parser.add_argument("--tls", action="store_true", help="one broker each, over TLS")
    parser.add_argument("--logins", action="store_true", help="our node with SASL and ACLs beside one without")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds of each case and server (5)")
    parser.add_argument("--warm-up", type=int, default=3, help="rounds before them that do not count (3)")
    parser.add_argument("--starts", type=int, default=5, help="starts of each server, if they are asked for (5)")
    parser.add_argument("--scale", type=float, default=1.0, help="the share of each case's full size (1.0)")
    parser.add_argument("--only", default="", help="only the cases whose name contains this")
    parser.add_argument("--plain", action="store_true", help="our node a second time, with no compiled modules")
    parser.add_argument(
        "--before", type=Path, help="the `millstream` command of another build, beside ours in the same run"
    )
    parser.add_argument("--json", type=Path, help="also write every measurement to this file")
    parser.add_argument("--directory", type=Path, help="where the servers keep their data while they run")
    return parser.parse_args()


def _compare(
    servers: list[Server],
    floors: list[Server],
    cases: list[Case],
    options: argparse.Namespace,
    measurements: list[Measurement],
) -> None:
    """Add to `measurements` as they are made."""
    measurements += _start(servers, options.starts if options.only in START else 1, options)
    for floor in floors:
        floor.start()
    for turn in range(options.warm_up):
        for server in servers:
            _say(f"warming {server.name}, round {turn + 1} of {options.warm_up}")
            for case in cases:
                _measure(server, case, options)
    for turn in range(options.rounds):
        for case in cases:
            # A B, then B A: whatever else the machine does falls on both alike.
            for server in servers if turn % 2 == 0 else reversed(servers):
                measurement = _measure(server, case, options)
                measurements.append(measurement)
                _say(
                    f"round {turn + 1} of {options.rounds}: {case.name}: {server.name}: {measurement.server_cpu_s:.2f} CPU-s"
                )
            for floor in floors if case.has_floor else ():
                measurements.append(_measure_run(floor, case, "floor", options.scale))


def _start(servers: list[Server], times: int, options: argparse.Namespace) -> list[Measurement]:
    """Start each server so many times, the last time to stay; how long until a record was acknowledged."""
    measurements = []
    for turn in range(times):
        for server in servers if turn % 2 == 0 else reversed(servers):
            _say(f"starting {server.name}, {turn + 1} of {times}")
            if turn:
                server.stop()
            busy_before, started = machine_busy_s(), time.monotonic()
            server.start()
            _produce_one(server, options)
            seconds = time.monotonic() - started
            usage = usage_of(*server.pids)
            done = Done(None, 0, seconds, 0.0, first_ack_s=seconds)
            others = _others(machine_busy_s() - busy_before, usage.cpu_s, done, seconds)
            measurements.append(Measurement(START, server.name, done, usage.cpu_s, usage.resident_bytes, others))
    return measurements


def _produce_one(server: Server, options: argparse.Namespace) -> None:
    topic = f"bench-{os.getpid()}-{next(_topic_numbers)}"
    config = {**server.client, "log_level": 0}
    create(AdminClient(config), [NewTopic(topic, 1, options.brokers)])
    producer = Producer(config | {"acks": "all", "linger.ms": 0})
    producer.produce(topic, b"first", partition=0)
    if producer.flush(30):
        raise RuntimeError(f"{server.name} acknowledged nothing")


def _measure(server: Server, case: Case, options: argparse.Namespace) -> Measurement:
    topic, scale = f"bench-{os.getpid()}-{next(_topic_numbers)}", options.scale
    admin = AdminClient({**server.client, "log_level": 0})
    create(admin, [NewTopic(topic, 1, options.brokers)])
    _wait_for_leader(admin, topic)
    case.prepare(server.client, topic, scale)
    measurement = _measure_run(server, case, topic, scale)
    admin.delete_topics([topic])[topic].result(30)
    return measurement


def _measure_run(server: Server, case: Case, topic: str, scale: float) -> Measurement:
    time.sleep(_SETTLE_S)
    busy_before, before, started = machine_busy_s(), usage_of(*server.pids), time.monotonic()
    done = case.run(server.client, topic, scale)
    time.sleep(_SETTLE_S)
    busy, after, seconds = machine_busy_s() - busy_before, usage_of(*server.pids), time.monotonic() - started
    if after.resident_bytes == 0:
        raise RuntimeError(f"{server.name} is gone: whatever answered was another server")
    cpu_s = after.cpu_s - before.cpu_s
    return Measurement(case.name, server.name, done, cpu_s, after.resident_bytes, _others(busy, cpu_s, done, seconds))


def _wait_for_leader(admin: AdminClient, topic: str) -> None:
    """Metadata may name a leader before the leader knows: wait until it answers for the partition."""
    partition = TopicPartition(topic, 0)
    for _ in range(100):
        try:
            admin.list_offsets({partition: OffsetSpec.latest()}, request_timeout=5)[partition].result(5)
            return
        except KafkaException:
            time.sleep(0.05)
    raise RuntimeError(f"{topic} has no leader")


def _others(busy_s: float, server_cpu_s: float, done: Done, seconds: float) -> float:
    return max(0.0, busy_s - server_cpu_s - done.client_cpu_s) / (seconds * (os.cpu_count() or 1))


def _compile_client(directory: Path) -> Path:
    client = directory / "raw_client"
    subprocess.run(["cc", "-O2", "-o", str(client), str(HERE / "raw_client.c")], check=True)
    return client


def _about(rounds: int, baseline: str) -> str:
    load = os.getloadavg()[0]
    beside = f"Apache Kafka {KAFKA_VERSION}" if baseline == Kafka.name else "one without"
    return (
        f"\nmillstream ({_build()}) on Python {platform.python_version()} beside {beside}: "
        f"server processor time, {rounds} alternating rounds, median (smallest..largest), "
        f"{os.cpu_count()} processors, load {load:.1f}"
    )


def _build() -> str:
    import_module("millstream_wire.records.walk")
    return f"records {records_build()}"


def _say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
