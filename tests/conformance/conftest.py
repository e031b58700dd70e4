"""Servers for the tests: one of each shape for the whole run, since unmodified clients must not care which it is."""

import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
from console_page import ConsolePage, console_of
from console_scene import create
from kafka_broker import KafkaBroker
from kafka_tools import KafkaUnavailable, kafka_libs

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job passes that on to all that it starts, and here processes are to stop as by Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)

BEGUN_FIRST = {
    f"test_{name}.py"
    for name in ("upgrade", "growth", "group_churn", "replicas", "crash", "kafka_streams", "mirror_maker", "quotas")
}
"""Files that take minutes: whoever gets the last of them would work on alone when everything else is done."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in BEGUN_FIRST)


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.ServerProcess]:
    with servers.node(tmp_path_factory.mktemp("node")) as running:
        yield running


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Cluster]:
    with servers.cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(params=["node", "cluster"])
def bootstrap(request: pytest.FixtureRequest) -> str:
    """The address of a running product, of either shape."""
    running: servers.ServerProcess | servers.Cluster = request.getfixturevalue(request.param)
    return running.bootstrap


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    try:
        kafka_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(params=["node", "cluster", "kafka"])
def anywhere(request: pytest.FixtureRequest) -> str:
    """The address of a server, ours or Apache Kafka's own: our client must not care either."""
    running: servers.ServerProcess | servers.Cluster | KafkaBroker = request.getfixturevalue(request.param)
    return running.bootstrap


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid.uuid4().hex[:10]}"


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A directory for a server of a test's own."""
    return tmp_path


@pytest.fixture(scope="module")
def page(node: servers.ServerProcess) -> ConsolePage:
    """The node's console, as somebody who has opened it."""
    return ConsolePage(console_of(node.ready_line))


@pytest.fixture
def made(node: servers.ServerProcess, topic: str) -> str:
    """A topic with three partitions."""
    create(node, topic, 3)
    return topic
