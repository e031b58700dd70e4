"""Static members: one that dies and comes back is where it was and disturbs nobody; of two with one instance id, one has to go."""

import shutil
from collections.abc import Callable, Iterator

import pytest
from feed import Feed
from python_member import STATIC_SESSION_MS
from servers import ServerProcess, eventually, node
from test_confluent import create
from verifiable_members import Member, VerifiableMember, check_all_read, python_member

TIMEOUT_S = 120
PARTITIONS = 4
REBALANCES = ("partitions_assigned", "partitions_revoked", "partitions_lost")
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = (
        "group.consumer.heartbeat.interval.ms=500",
        f"group.consumer.session.timeout.ms={STATIC_SESSION_MS}",
        "group.consumer.assignment.interval.ms=0",
        "group.initial.rebalance.delay.ms=0",
        "offsets.topic.num.partitions=1",
    )
    with node(tmp_path_factory.mktemp("static"), *settings) as running:
        yield running


def static_member(name: str, client: str, protocol: str, bootstrap: str, topic: str, instance: str) -> Member:
    where = bootstrap, topic, f"g-{topic}"
    if client != "java":
        return python_member(name, client, protocol, "range", *where, instance)
    options = ["--group-protocol", protocol, "--group-instance-id", instance]
    if protocol == "classic":
        options += ["--session-timeout", str(STATIC_SESSION_MS)]
    return VerifiableMember(name, *where, *options)


@pytest.mark.parametrize(
    ("client", "protocol", "error"),
    [
        pytest.param("java", "classic", "FencedInstanceIdException", marks=needs_java),
        ("confluent", "classic", "fenced by other consumer"),
        ("aiokafka", "classic", ""),  # it leaves the instance id out of commits, and so is told something else first
        pytest.param("java", "consumer", "UnreleasedInstanceIdException", marks=needs_java),
        ("confluent", "consumer", "still used by another member"),
    ],
)
def test_a_member_comes_back_and_another_under_its_name_is_noticed(
    server: ServerProcess, topic: str, client: str, protocol: str, error: str
) -> None:
    create(server.bootstrap, topic, partitions=PARTITIONS)
    feed = Feed(server.bootstrap, topic, PARTITIONS)
    members: list[Member] = []

    def start(instance: str, client: str = client) -> Member:
        members.append(static_member(f"{instance}-{len(members)}", client, protocol, server.bootstrap, topic, instance))
        return members[-1]

    try:
        other, first = start("other", "confluent"), start("one")
        eventually(lambda: shared(other, first), within_s=TIMEOUT_S)
        had, before = first.owned, rebalances(other)
        # The consumer protocol keeps the place of one that says that it will be back; the classic one of any.
        first.kill() if protocol == "classic" else first.stop()
        second = start("one")
        eventually(lambda: has(second, had), within_s=TIMEOUT_S)
        if error:
            third = start("one")
            # The classic protocol has the later one for the true one, the consumer protocol the earlier one.
            fenced, stays = (second, third) if protocol == "classic" else (third, second)
            eventually(refused(fenced, error), within_s=TIMEOUT_S)
            eventually(lambda: has(stays, had), within_s=TIMEOUT_S)
        assert rebalances(other) == before
        feed.stop()
        eventually(lambda: check_all_read(members, feed.ends, once=False), within_s=TIMEOUT_S)
        assert rebalances(other) == before
    finally:
        feed.stop()
        for member in members:
            member.kill()


def shared(*members: Member) -> None:
    assert [len(member.owned) for member in members] == [PARTITIONS // len(members)] * len(members)
    assert len(set().union(*(member.owned for member in members))) == PARTITIONS


def has(member: Member, partitions: object) -> None:
    assert member.owned == partitions, member.complaints


def rebalances(member: Member) -> int:
    return sum(event["name"] in REBALANCES for event in member.events)


def refused(member: Member, error: str) -> Callable[[], None]:
    def check() -> None:
        assert error in member.complaints
        assert not member.is_alive

    return check
