"""Kafka Connect with the connectors that come with it: lines of a file to a topic, and from the topic to another file."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
import servers
from confluent_kafka import Consumer, TopicPartition
from growing import whole
from kafka_programs import Program, programs_libs, write_properties
from kafka_tools import KafkaUnavailable

TIMEOUT_S = 180
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
WORKER = {
    "key.converter": STRINGS,
    "value.converter": STRINGS,
    "offset.flush.interval.ms": "500",
    "plugin.discovery": "service_load",
    "reconnect.backoff.max.ms": "500",
}
SOURCE = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max": "1"}
SINK = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max": "1"}


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    try:
        programs_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))


def append(path: Path, numbers: Iterable[int]) -> None:
    with path.open("a") as lines:
        lines.writelines(f"line {number}\n" for number in numbers)


def until_copied(program: Program, target: Path, source: Path) -> None:
    def check() -> None:
        program.assert_running()
        copied = target.read_text() if target.exists() else ""
        assert copied == source.read_text(), program.log_tail()

    servers.eventually(check, within_s=TIMEOUT_S)


def test_standalone_copies_a_file_through_a_topic(cluster: servers.Cluster, fresh: Path, topic: str) -> None:
    source, target = fresh / "source.txt", fresh / "target.txt"
    append(source, range(100))
    files = [
        write_properties(fresh / f"{name}.properties", settings)
        for name, settings in {
            "worker": WORKER
            | {
                "bootstrap.servers": cluster.bootstrap,
                "offset.storage.file.filename": str(fresh / "offsets"),
                "listeners": "http://127.0.0.1:0",
            },
            "source": SOURCE | {"name": f"source-{topic}", "file": str(source), "topic": topic},
            "sink": SINK | {"name": f"sink-{topic}", "file": str(target), "topics": topic},
        }.items()
    ]
    program = Program("org.apache.kafka.connect.cli.ConnectStandalone", files, fresh / "connect.log")
    with program:
        until_copied(program, target, source)
    with program:  # and from where it was when it stopped
        append(source, range(100, 200))
        until_copied(program, target, source)


class DistributedWorker(Program):
    """One worker of a Connect cluster, whose connectors are said over its REST interface."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        self._url = f"http://127.0.0.1:{servers.free_port()}"
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": "connect",
            "exactly.once.source.support": "enabled",
            "listeners": self._url,
            "session.timeout.ms": "6000",  # how long a killed worker's place waits for the next one
        }
        for kind in ("config", "offset", "status"):
            settings |= {f"{kind}.storage.topic": f"connect-{kind}"}  # three replicas, unless told otherwise
        configuration = write_properties(directory / "worker.properties", WORKER | settings)
        super().__init__("org.apache.kafka.connect.cli.ConnectDistributed", [configuration], directory / "connect.log")

    def ask(self, path: str, body: Mapping[str, str] | None = None) -> dict[str, object]:
        """GET, or PUT where there is a body, as soon as the worker takes it."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, data, headers, method="GET" if data is None else "PUT")
        answers: list[dict[str, object]] = []

        def check() -> None:
            self.assert_running()
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                    answers.append(json.load(answer))
            except (urllib.error.URLError, ConnectionError) as error:
                raise AssertionError(self.log_tail()) from error

        servers.eventually(check, within_s=TIMEOUT_S)
        return answers[-1]


def test_distributed_copies_each_line_once_whatever_dies(fresh: Path, topic: str) -> None:
    source, target = fresh / "source.txt", fresh / "target.txt"
    append(source, range(100))
    with servers.cluster(fresh) as running:
        worker = DistributedWorker(running.bootstrap, fresh)
        with worker:
            worker.ask("/connectors/source/config", SOURCE | {"file": str(source), "topic": topic})
            worker.ask(
                "/connectors/sink/config",
                SINK | {"file": str(target), "topics": topic, "consumer.override.isolation.level": "read_committed"},
            )
            until_copied(worker, target, source)
            append(source, range(100, 200))
            worker.kill()
            worker.start()
            append(source, range(200, 300))
            servers.eventually(lambda: until_written(running.bootstrap, topic, source), within_s=TIMEOUT_S)
            append(source, range(300, 400))
            for victim in "broker-1", "coordinator-1":
                running.kill(victim)
            append(source, range(400, 500))
            servers.eventually(lambda: until_written(running.bootstrap, topic, source), within_s=TIMEOUT_S)
            for victim in "broker-1", "coordinator-1":
                running.restart(victim)
            append(source, range(500, 600))
            servers.eventually(lambda: until_written(running.bootstrap, topic, source), within_s=TIMEOUT_S)
            servers.eventually(lambda: whole(running.bootstrap, 3), within_s=TIMEOUT_S)
            assert worker.ask("/connectors/source/status")["connector"]


def until_written(bootstrap: str, topic: str, source: Path) -> None:
    assert committed(bootstrap, topic) == source.read_text().splitlines()


def committed(bootstrap: str, topic: str) -> list[str]:
    """The topic's only partition as a reader of committed records sees it."""
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    reader.assign([TopicPartition(topic, 0, 0)])
    found = []
    while (message := reader.poll(TIMEOUT_S)) is not None and message.error() is None:
        value = message.value()
        assert value is not None
        found.append(value.decode())
    reader.close()
    return found
