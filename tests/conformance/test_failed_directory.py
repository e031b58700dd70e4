"""One of a broker's two directories fails under load and stays so: what was in it is made again in the other one, unasked."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import servers
from confluent_kafka.admin import AdminClient
from faulty_disk import FaultyDisk
from growing import partitions_of
from kafka_tools import run_tools
from test_crash import PARTITIONS, Load, check_nothing_lost, create, wait_for_progress

TIMEOUT_S = 90
BROKER = 3
AWAY_MS = 11_000
"""How long a directory may be away: since when it is becomes known after ten seconds."""


def kept(log_dir: Path, topic: str) -> set[str]:
    """The topic's partitions that a directory has files of."""
    return {each.name for each in log_dir.iterdir() if re.fullmatch(rf"{topic}-\d+", each.name)}


def described(bootstrap: str) -> Mapping[str, str | None]:
    """What kafka-log-dirs says is wrong with each directory of the broker."""
    (said,) = run_tools(
        [("kafka-log-dirs", ["--bootstrap-server", bootstrap, "--describe", "--broker-list", str(BROKER)])]
    )
    (broker,) = json.loads(next(line for line in said.stdout.splitlines() if line.startswith("{")))["brokers"]
    return {Path(each["logDir"]).name: each["error"] for each in broker["logDirs"]}


@pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
def test_what_was_in_a_failed_directory_is_made_again_in_the_other_one(
    fresh: Path, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = fresh / "disks" / "one", fresh / "disks" / "other"
    disk_space = shutil.disk_usage(fresh)
    assert disk_space.free > disk_space.total // 8, (
        "a broker keeps a tenth of a disk free: here it would make nothing again"
    )
    with servers.cluster(fresh, f"broker.replacement.timeout.ms={AWAY_MS}", brokers=2) as cluster:
        disk = FaultyDisk(fresh, "/disks/one/", monkeypatch)
        cluster.add_broker(BROKER, one, other)
        servers.eventually(lambda: expect_live(cluster.bootstrap), within_s=TIMEOUT_S)
        create(cluster.bootstrap, topic, replicas=3)
        with Load(cluster.bootstrap, topic) as load:
            wait_for_progress(load)
            assert len(kept(one, topic)) == len(kept(other, topic)) == PARTITIONS // 2
            disk.fail()
            servers.eventually(lambda: out_of_sync(cluster.bootstrap, topic, PARTITIONS // 2))
            found = described(cluster.bootstrap)
            assert found["other"] is None
            assert "KafkaStorageException" in str(found["one"])
            assert f"data directories that have failed: {one} of broker {BROKER}\n" in health(cluster.bootstrap)
            wait_for_progress(load)
            servers.eventually(lambda: out_of_sync(cluster.bootstrap, topic, 0), within_s=TIMEOUT_S)
            assert len(kept(other, topic)) == PARTITIONS
            wait_for_progress(load)
            cluster.stop(f"broker-{BROKER}")
            disk.heal()
            cluster.restart(f"broker-{BROKER}")
            servers.eventually(lambda: out_of_sync(cluster.bootstrap, topic, 0), within_s=TIMEOUT_S)
            servers.eventually(lambda: expect_unused(one, topic))
            assert set(described(cluster.bootstrap).values()) == {None}
            load.finish()
        check_nothing_lost(load, cluster.bootstrap, topic)


def health(bootstrap: str) -> str:
    """What our own command says."""
    command = [servers.MILLSTREAM, "cluster", "health", "--bootstrap", bootstrap]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def expect_live(bootstrap: str) -> None:
    assert BROKER in AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10).brokers


def out_of_sync(bootstrap: str, topic: str, count: int) -> None:
    """In so many partitions the broker is not in sync."""
    partitions = [each for (name, _), each in partitions_of(bootstrap).items() if name == topic]
    assert all(each.leader >= 0 for each in partitions)
    assert sum(BROKER not in each.isrs for each in partitions) == count


def expect_unused(log_dir: Path, topic: str) -> None:
    """What came back after the replicas had been made again is kept, and set aside."""
    assert kept(log_dir, topic) == set()
    assert len(list(log_dir.glob(f"{topic}-*-stray"))) == PARTITIONS // 2
