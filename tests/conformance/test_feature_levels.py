"""Feature levels: UpdateFeatures answered as Apache Kafka does, by its tool too, and what clients do at a lower level."""

import re
import shutil
import uuid
from collections.abc import Iterator, Sequence

import pytest
import servers
from ask import ask
from kafka_broker import KafkaBroker
from kafka_tools import run_tools

from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.update_features import FeatureUpdateKey

UPGRADE, SAFE, UNSAFE = 1, 2, 3
TIMEOUT_S = 120
LOADING = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
Update = tuple[str, int, int]

STEPS: Sequence[Sequence[Update]] = (
    (),
    (("group.version", 1, UPGRADE),),
    (("no.such.feature", 1, UPGRADE),),
    (("no.such.feature", 0, UPGRADE),),
    (("no.such.feature", 0, SAFE),),
    (("no.such.feature", 0, 9),),
    (("no.such.feature", -1, SAFE),),
    (("group.version", 9, UPGRADE),),
    (("group.version", -1, UPGRADE),),
    (("group.version", 0, UPGRADE),),
    (("group.version", 0, 0),),
    (("group.version", 0, 9),),
    (("group.version", 1, UPGRADE), ("group.version", 1, UPGRADE)),
    (("group.version", 1, UPGRADE), ("no.such.feature", 1, UPGRADE), ("transaction.version", 1, SAFE)),
    (("transaction.version", 1, SAFE),),
    (("transaction.version", 2, SAFE),),
    (("transaction.version", 2, UNSAFE),),
    (("transaction.version", 0, UNSAFE),),
    (("group.version", 0, SAFE),),
    (("group.version", 1, UPGRADE), ("transaction.version", 2, UPGRADE)),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.ServerProcess]:
    """One of these tests' own: levels are the whole cluster's."""
    with servers.node(tmp_path_factory.mktemp("features")) as running:
        yield running


def levels(bootstrap: str) -> dict[str, int]:
    (answer,) = ask(bootstrap, m.ApiVersionsRequest(client_software_name="ask", client_software_version="1"))
    return {feature.name: feature.max_version_level for feature in answer.finalized_features}


def update(bootstrap: str, updates: Sequence[Update], version: int = 2) -> str:
    keys = [FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level, kind in updates]
    (answer,) = ask(bootstrap, m.UpdateFeaturesRequest(feature_updates=keys), version=version)
    return re.sub(r"Local controller \d+", "Local controller N", repr(answer))


@pytest.mark.parametrize("version", [1, 2])
def test_levels_go_up_and_down_as_apache_kafkas(
    server: servers.ServerProcess, kafka: KafkaBroker, version: int
) -> None:
    for step in STEPS:
        assert update(server.bootstrap, step, version) == update(kafka.bootstrap, step, version), step
        servers.eventually(lambda step=step: _stand_alike(server, kafka, step))


def _stand_alike(server: servers.ServerProcess, kafka: KafkaBroker, step: Sequence[Update]) -> None:
    """A broker answers with the levels that it has applied: that may be a moment after the controller's answer."""
    here, there = levels(server.bootstrap), levels(kafka.bootstrap)
    for name in ("group.version", "transaction.version"):
        assert here.get(name) == there.get(name), step


def test_without_its_level_the_consumer_protocol_is_refused(
    server: servers.ServerProcess, kafka: KafkaBroker, topic: str
) -> None:
    for bootstrap in (server.bootstrap, kafka.bootstrap):
        assert _joins(bootstrap, topic) == ErrorCode.NONE
        update(bootstrap, [("group.version", 0, SAFE)])
        servers.eventually(lambda bootstrap=bootstrap: _answers(bootstrap, topic, ErrorCode.UNSUPPORTED_VERSION))
        update(bootstrap, [("group.version", 1, UPGRADE)])
        servers.eventually(lambda bootstrap=bootstrap: _answers(bootstrap, topic, ErrorCode.NONE))


def _answers(bootstrap: str, topic: str, expected: int) -> None:
    assert _joins(bootstrap, topic) == expected


def _joins(bootstrap: str, topic: str) -> int:
    """What a member is told that joins a group of its own."""
    group = f"g-{uuid.uuid4().hex}"
    told: list[int] = []

    def is_found() -> None:
        (found,) = ask(bootstrap, m.FindCoordinatorRequest(coordinator_keys=[group]))
        assert found.coordinators[0].error_code == 0
        joining = m.ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="a-member",
            member_epoch=0,
            rebalance_timeout_ms=30_000,
            subscribed_topic_names=[topic],
            topic_partitions=[],
        )
        (answer,) = ask(f"{found.coordinators[0].host}:{found.coordinators[0].port}", joining)
        assert answer.error_code not in LOADING
        told.append(answer.error_code)

    servers.eventually(is_found)
    return told[0]


def _at_the_highest(bootstrap: str) -> None:
    assert {"group.version": 1, "transaction.version": 2}.items() <= levels(bootstrap).items()


@pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
def test_kafkas_own_tool_downgrades_and_upgrades(server: servers.ServerProcess) -> None:
    ours = ["--bootstrap-server", server.bootstrap]
    update(server.bootstrap, [("group.version", 1, UPGRADE), ("transaction.version", 2, UPGRADE)])
    servers.eventually(lambda: _at_the_highest(server.bootstrap))
    described, release, unknown, back, down, lower, too_high, up = run_tools(
        [
            ("kafka-features", [*ours, "describe"]),
            ("kafka-features", [*ours, "upgrade", "--release-version", "4.0"]),
            ("kafka-features", [*ours, "upgrade", "--metadata", "4.3"]),
            ("kafka-features", [*ours, "downgrade", "--feature", "metadata.version=7"]),
            ("kafka-features", [*ours, "downgrade", "--feature", "transaction.version=1"]),
            ("kafka-features", [*ours, "describe"]),
            ("kafka-features", [*ours, "upgrade", "--feature", "transaction.version=7"]),
            ("kafka-features", [*ours, "upgrade", "--feature", "transaction.version=2"]),
        ],
        timeout_s=TIMEOUT_S,
    )
    assert re.search(r"transaction\.version\s.*FinalizedVersionLevel: 2", described.stdout)
    levels_of_the_log = r"metadata\.version\s.*Min\w+: 3\.3-IV3\s.*Max\w+: 4\.0-IV3\s.*FinalizedVersionLevel: 4\.0-IV3"
    assert re.search(levels_of_the_log, described.stdout), described.stdout
    assert release.returncode == 0, release.stdout + release.stderr
    assert (unknown.returncode, back.returncode) == (1, 1)
    assert "knows the levels 7, 25" in unknown.stdout
    assert "never goes down" in back.stdout
    assert down.returncode == 0, down.stdout + down.stderr
    assert re.search(r"transaction\.version\s.*FinalizedVersionLevel: 1", lower.stdout)
    assert too_high.returncode == 1
    assert up.returncode == 0, up.stdout + up.stderr
    servers.eventually(lambda: _at_the_highest(server.bootstrap))
