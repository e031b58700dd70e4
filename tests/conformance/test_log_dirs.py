"""Two data directories of one broker, as Kafka's tools see them and move replicas between them: the same from Apache Kafka's broker."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import servers
from ask import ask
from kafka_broker import KafkaBroker
from kafka_tools import run_tools

from millstream_wire import messages as m
from millstream_wire.messages.alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirTopic

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

TOPIC = "spread"
PARTITIONS = 4
RECORDS = 2_000


@pytest.fixture(scope="module", params=["millstream", "kafka"])
def bootstrap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A broker with directories a and b, and where they are."""
    path = tmp_path_factory.mktemp(request.param)
    log_dirs = f"{path / 'a'},{path / 'b'}"
    if request.param == "millstream":
        (path / "node").mkdir()
        with servers.node(path / "node", f"log.dirs={log_dirs}") as process:
            yield process.bootstrap, path
        return
    broker = KafkaBroker(path / "node", properties={"log.dirs": log_dirs})
    broker.start()
    yield broker.bootstrap, path
    broker.kill()


def described(said: str) -> dict[str, list[dict[str, Any]]]:
    """What kafka-log-dirs says of each directory, by its name."""
    (broker,) = json.loads(next(line for line in said.splitlines() if line.startswith("{")))["brokers"]
    assert all(each["error"] is None for each in broker["logDirs"])
    return {Path(each["logDir"]).name: each["partitions"] for each in broker["logDirs"]}


def test_tools_show_and_move_what_is_in_each_directory(bootstrap: tuple[str, Path], tmp_path: Path) -> None:
    address, path = bootstrap
    server = ["--bootstrap-server", address]
    (cluster,) = ask(address, m.DescribeClusterRequest())
    broker = cluster.brokers[0].broker_id
    target = str(path / "b")
    wanted = {
        "version": 1,
        "partitions": [
            {"topic": TOPIC, "partition": index, "replicas": [broker], "log_dirs": [target]}
            for index in range(PARTITIONS)
        ],
    }
    file = tmp_path / "move"
    file.write_text(json.dumps(wanted))
    move = [*server, "--reassignment-json-file", str(file)]
    producing = ["--topic", TOPIC, "--num-records", str(RECORDS), "--record-size", "1000", "--throughput", "-1"]
    describe = ("kafka-log-dirs", [*server, "--describe", "--topic-list", TOPIC])
    verify = ("kafka-reassign-partitions", [*move, "--verify"])
    before = run_tools(
        [
            ("kafka-topics", [*server, "--create", "--topic", TOPIC, "--partitions", str(PARTITIONS)]),
            ("kafka-producer-perf-test", [*producing, "--command-property", f"bootstrap.servers={address}"]),
            describe,
            ("kafka-reassign-partitions", [*move, "--execute", "--replica-alter-log-dirs-throttle", "100000000"]),
        ]
    )
    assert all(result.returncode == 0 for result in before), before
    spread = described(before[2].stdout)
    assert Counter({name: len(partitions) for name, partitions in spread.items()}) == {"a": 2, "b": 2}
    assert sum(each["size"] for each in [*spread["a"], *spread["b"]]) > RECORDS * 1000
    moving = [f"moving log directory to {target} for replica {TOPIC}-{index}" for index in range(PARTITIONS)]
    assert all(f"Successfully started {each}" in before[3].stdout for each in moving), before[3].stdout

    def moved() -> None:
        (told,) = run_tools([verify])
        assert "is still in progress" not in told.stdout

    servers.eventually(moved, within_s=60, every_s=1)
    after = run_tools([verify, describe, ("kafka-get-offsets", [*server, "--topic", TOPIC])])
    assert after[0].stdout.count("completed") >= PARTITIONS, after[0].stdout
    gone = described(after[1].stdout)
    assert [each["partition"] for each in gone["a"]] == []
    assert sorted(each["partition"] for each in gone["b"]) == [f"{TOPIC}-{index}" for index in range(PARTITIONS)]
    assert not any(each["isFuture"] or each["offsetLag"] for each in gone["b"])
    assert sum(int(line.rpartition(":")[2]) for line in after[2].stdout.split()) == RECORDS
    servers.eventually(lambda: expect_directories(path), within_s=30)


def expect_directories(path: Path) -> None:
    """What the tools say is so on the disk, too."""
    found = {name: sorted(each.name for each in (path / name).glob(f"{TOPIC}-*")) for name in "ab"}
    deleted = [name for name in found["a"] if not name.endswith("-delete")]
    assert (deleted, found["b"]) == ([], [f"{TOPIC}-{index}" for index in range(PARTITIONS)])


def test_what_is_asked_in_vain_is_refused_alike(bootstrap: tuple[str, Path]) -> None:
    address, path = bootstrap

    def asked(directory: str, topic: str) -> int:
        topics = [AlterReplicaLogDirTopic(name=topic, partitions=[0])]
        (answer,) = ask(address, m.AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=directory, topics=topics)]))
        return int(answer.results[0].partitions[0].error_code)

    assert asked(str(path / "elsewhere"), TOPIC) == 57
    assert asked(str(path / "b"), "nowhere") == 3
    assert asked(str(path / "b"), TOPIC) == 0
