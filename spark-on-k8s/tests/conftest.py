"""A real broker, the one that MILLSTREAM_BOOTSTRAP names or a `millstream node`, and Spark on this machine alone."""

import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from broker import Topics, wait_until_it_answers
from lakeside import Archive

ROOT = Path(__file__).parents[2]

# Read when the first session starts the JVM, which the tests in this process then share.
os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join(
    [
        "--master local[2] --driver-memory 512m",
        "--conf spark.ui.enabled=false --conf spark.ui.showConsoleProgress=false",
        "--conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1",
        # Tests are short: what the second compiler costs never pays.
        "--conf 'spark.driver.extraJavaOptions=-XX:+UseSerialGC -XX:TieredStopAtLevel=1'",
        "--conf spark.sql.shuffle.partitions=2",
        "pyspark-shell",
    ]
)
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


@pytest.fixture(scope="session")
def bootstrap_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    named = os.environ.get("MILLSTREAM_BOOTSTRAP")
    if named:
        yield named
        return
    program = ROOT / ".venv" / "bin" / "millstream"
    if not program.exists():
        pytest.skip(
            "neither MILLSTREAM_BOOTSTRAP nor the workspace's `millstream` is there: run `make setup` in the root"
        )
    port = _free_port()
    directory = tmp_path_factory.mktemp("node")
    with open(directory / "log", "wb") as log:
        command = [str(program), "node", "--port", str(port), "--data", str(directory / "data")]
        node = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_until_it_answers(f"127.0.0.1:{port}", node, timeout_s=30)
        yield f"127.0.0.1:{port}"
    finally:
        node.terminate()
        try:
            node.wait(20)
        except subprocess.TimeoutExpired:
            node.kill()
        sys.stderr.write((directory / "log").read_text()[-4000:])


@pytest.fixture
def topics(bootstrap_servers: str) -> Topics:
    return Topics(bootstrap_servers)


@pytest.fixture
def topic(topics: Topics) -> str:
    name = f"orders-{uuid.uuid4().hex[:8]}"
    topics.create(name, partitions=3)
    return name


@pytest.fixture
def archive(bootstrap_servers: str, topic: str, tmp_path: Path) -> Archive:
    return Archive(bootstrap_servers, topic, tmp_path / "lake", tmp_path / "checkpoint")


def _free_port() -> int:
    """Return a port whose three neighbours are free too: a node's roles listen side by side."""
    for _ in range(100):
        with socket.create_server(("127.0.0.1", 0)) as first:
            port: int = first.getsockname()[1]
            try:
                for neighbour in range(port + 1, port + 4):
                    socket.create_server(("127.0.0.1", neighbour)).close()
            except (OSError, OverflowError):
                continue
            return port
    raise RuntimeError("no four free ports in a row")
