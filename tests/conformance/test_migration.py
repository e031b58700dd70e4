"""A live group goes from the classic protocol to the consumer protocol and back, one Java client at a time, while it reads."""

import shutil
from collections.abc import Iterator

import pytest
from feed import Feed
from servers import ServerProcess, eventually, node
from test_confluent import create
from verifiable_members import VerifiableMember, check_all_read, check_owners

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

TIMEOUT_S = 90
PARTITIONS = 4


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = (
        "group.consumer.heartbeat.interval.ms=300",
        "group.consumer.assignment.interval.ms=0",
        "group.initial.rebalance.delay.ms=0",
        "offsets.topic.num.partitions=1",
    )
    with node(tmp_path_factory.mktemp("migration"), *settings) as running:
        yield running


def test_members_change_protocol_one_by_one(server: ServerProcess, topic: str) -> None:
    roll(server.bootstrap, topic)


def roll(bootstrap: str, topic: str) -> None:
    """Away from an eager classic member and back to a cooperative one."""
    create(bootstrap, topic, partitions=PARTITIONS)
    group = f"g-{topic}"
    feed = Feed(bootstrap, topic, PARTITIONS)
    members: list[VerifiableMember] = []

    def start(protocol: str, assignor: str = "") -> VerifiableMember:
        options = ["--group-protocol", protocol]
        if protocol == "classic":
            strategy = f"org.apache.kafka.clients.consumer.{assignor}"
            options += ["--session-timeout", "15000", "--assignment-strategy", strategy]
        members.append(VerifiableMember(f"{protocol}-{len(members)}", bootstrap, topic, group, *options))
        return members[-1]

    def share(*sizes: int) -> None:
        def check() -> None:
            live = [member for member in members if member.is_alive]
            owned = [member.owned for member in live]
            assert sorted(map(len, owned)) == sorted(sizes), {m.name: m.owned for m in live}
            assert len(set().union(*owned)) == PARTITIONS

        eventually(check, within_s=TIMEOUT_S)

    try:
        classic = start("classic", "RangeAssignor")
        share(4)
        consumer = start("consumer")
        share(2, 2)
        classic.stop()
        share(4)
        classic = start("classic", "CooperativeStickyAssignor")
        share(2, 2)
        consumer.stop()
        share(4)
        feed.stop()
        eventually(lambda: check_all_read(members, feed.ends, once=True), within_s=TIMEOUT_S)
        classic.stop()
        check_owners(members)
    finally:
        feed.stop()
        for member in members:
            member.kill()
