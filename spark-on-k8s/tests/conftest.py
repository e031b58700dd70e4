"""A real broker, the one that MILLSTREAM_BOOTSTRAP names or a `millstream node`, and Spark on this machine alone."""

import os
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from broker import Topics
from lakeside import Archive
from nodes import PROGRAM, LocalNode
from segmented import SEGMENT_MS

SUBMIT = [
    "--master local[2] --driver-memory 512m",
    "--conf spark.ui.enabled=false --conf spark.ui.showConsoleProgress=false",
    "--conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1",
    "--conf spark.sql.shuffle.partitions=2",
]
# Tests are short: what the second compiler costs never pays, but where speeds are compared.
SHORT_LIVED = "--conf 'spark.driver.extraJavaOptions=-XX:+UseSerialGC -XX:TieredStopAtLevel=1'"


def pytest_configure(config: pytest.Config) -> None:
    by_hand = config.option.markexpr == "by_hand"
    # Read when the first session starts the JVM, which the tests in this process then share.
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([*SUBMIT, *([] if by_hand else [SHORT_LIVED]), "pyspark-shell"])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Node:
    bootstrap_servers: str
    data: Path | None
    """The broker's, if it is on this machine."""
    pid: int | None


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    named = os.environ.get("MILLSTREAM_BOOTSTRAP")
    if named:
        yield Node(named, None, None)
        return
    if not PROGRAM.exists():
        pytest.skip(
            "neither MILLSTREAM_BOOTSTRAP nor the workspace's `millstream` is there: run `make setup` in the root"
        )
    local = LocalNode(tmp_path_factory.mktemp("node"))
    try:
        local.start()
        yield Node(local.bootstrap_servers, local.data, local.pid)
    finally:
        local.stop()
        sys.stderr.write(local.log[-4000:])


@pytest.fixture(scope="session")
def bootstrap_servers(node: Node) -> str:
    return node.bootstrap_servers


@pytest.fixture(scope="session")
def data_directory(node: Node) -> Path:
    if node.data is None:
        pytest.skip("the broker's data directory is not known: its segments cannot be read")
    return node.data


@pytest.fixture
def topics(bootstrap_servers: str) -> Topics:
    return Topics(bootstrap_servers)


@pytest.fixture
def topic(topics: Topics) -> str:
    name = f"orders-{uuid.uuid4().hex[:8]}"
    topics.create(name, partitions=3)
    return name


@pytest.fixture
def segmented(topics: Topics, topic: str) -> str:
    """A topic whose segments are closed soon."""
    name = f"{topic}-segments"
    topics.create(name, partitions=3, config={"segment.ms": str(SEGMENT_MS)})
    return name


@pytest.fixture
def archive(bootstrap_servers: str, topic: str, tmp_path: Path) -> Archive:
    return Archive(bootstrap_servers, topic, tmp_path / "lake", tmp_path / "checkpoint")
