from dataclasses import replace
from uuid import UUID

import pytest

from millstream_cluster.ids import NO_NODE
from millstream_cluster.records import FenceReason
from millstream_controller.core import upkeep
from millstream_controller.core.nodes import nodes
from millstream_controller.core.nodes.sessions import Sessions
from millstream_controller.core.settings import Settings
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_controller.core.upkeep import Now, SoftState, keep_up

SESSION_MS = Settings().session_timeout_ms
VERIFY_MS = Settings().verify_timeout_ms
FORGET_MS = 300_000
ALL_SILENT_MS = upkeep.ALL_SILENT_SESSIONS * SESSION_MS


class Keeper:
    def __init__(self, cluster) -> None:
        self.cluster = cluster
        settings = replace(cluster.machine.settings, session_timeout_ms=SESSION_MS, coordinator_forget_ms=FORGET_MS)
        self.soft = SoftState.new(settings)
        self.sessions = self.soft.sessions

    def at(self, now_ms: int) -> int:
        """Keep up until there is nothing to do; how many decisions that took."""
        steps = 0
        while self.cluster.do(keep_up(self.cluster.machine, self.soft, Now(now_ms, now_ms))):
            steps += 1
        return steps

    def heard(self, node_id: int, now_ms: int) -> None:
        self.sessions.heard(self.cluster.image.node(node_id), now_ms)

    def begin(self) -> None:
        """All are heard at the beginning."""
        for node_id in self.cluster.image.nodes:
            self.heard(node_id, 0)
        self.at(0)


@pytest.fixture
def keeper(cluster) -> Keeper:
    return Keeper(cluster)


def test_a_silent_node_is_fenced_when_its_session_ends_and_not_before(cluster, keeper) -> None:
    cluster.register(1)
    cluster.register(2)
    cluster.create(NewTopic("t", 2, 1))
    keeper.begin()
    keeper.heard(2, SESSION_MS // 2)
    keeper.at(SESSION_MS - 1)
    assert not cluster.image.brokers[1].fenced
    keeper.at(SESSION_MS)
    assert cluster.image.brokers[1].fenced
    assert not cluster.image.brokers[2].fenced
    assert [partition.leader for partition in cluster.image.topic("t").partitions] == [NO_NODE, 2]


def test_who_was_not_heard_since_a_takeover_or_a_pause_has_time_to_turn_from_the_controller_before(
    cluster, keeper
) -> None:
    """That one is believed for a while after the takeover, and nodes that it answers do not look for another."""
    cluster.register(1)
    keeper.at(100_000)
    keeper.at(100_000 + VERIFY_MS + SESSION_MS // 3 - 1)
    assert not cluster.image.brokers[1].fenced
    keeper.sessions.start_anew()
    keeper.at(200_000)
    keeper.at(200_000 + VERIFY_MS + SESSION_MS // 3 - 1)
    assert not cluster.image.brokers[1].fenced
    keeper.at(200_000 + VERIFY_MS + SESSION_MS // 3)
    assert cluster.image.brokers[1].fenced


def test_a_new_registration_begins_a_new_session(cluster, keeper) -> None:
    cluster.register(1)
    keeper.begin()
    cluster.register(1)
    keeper.at(SESSION_MS)
    assert not cluster.image.brokers[1].fenced


def test_a_session_that_is_known_to_be_over_ends_at_once_and_another_life_is_not_meant(cluster, keeper) -> None:
    cluster.register(1)
    cluster.register(2)
    keeper.at(0)
    before = cluster.image.brokers[1]
    cluster.register(1)
    keeper.sessions.end(before, 0)
    keeper.sessions.end(cluster.image.brokers[2], 0)
    keeper.at(0)
    assert [cluster.image.brokers[node].fenced for node in (1, 2)] == [False, True]
    assert cluster.history[-1].reason is FenceReason.DIED
    keeper.heard(1, 0)
    keeper.at(SESSION_MS)
    assert cluster.history[-1].reason is FenceReason.SILENT


def test_a_broker_that_leads_very_many_partitions_is_fenced_in_parts_each_safe(cluster, keeper, monkeypatch) -> None:
    monkeypatch.setattr(nodes, "RECORDS_MAX", 3)
    monkeypatch.setattr(upkeep, "RECORDS_MAX", 3)
    cluster.register(1)
    cluster.create(NewTopic("t", 10, 1))
    keeper.begin()
    assert keeper.at(SESSION_MS) >= 4
    assert cluster.image.brokers[1].fenced
    cluster.beat(1)
    assert sum(partition.online for partition in cluster.image.partitions()) == 3
    keeper.heard(1, SESSION_MS)
    keeper.at(SESSION_MS)
    assert all(partition.online for partition in cluster.image.partitions())


def test_a_silent_coordinator_is_fenced_when_another_one_can_take_its_shards(cluster, keeper) -> None:
    cluster.register(10_001)
    cluster.register(10_002)
    keeper.begin()
    keeper.heard(10_002, SESSION_MS - 500)
    keeper.at(SESSION_MS)
    assert [cluster.image.node(number).fenced for number in (10_001, 10_002)] == [True, False]


def test_coordinators_that_are_all_silent_are_not_fenced_before_one_of_them_is_heard(cluster, keeper) -> None:
    """It is this controller that is cut off from them, maybe, and they serve on (make chaos FAMILY=cut SEED=31)."""
    cluster.register(10_001)
    cluster.register(10_002)
    keeper.begin()
    keeper.heard(10_002, 500)
    keeper.at(SESSION_MS)
    keeper.at(3 * SESSION_MS)
    assert not any(cluster.image.node(number).fenced for number in (10_001, 10_002))
    keeper.heard(10_002, 3 * SESSION_MS)
    keeper.at(3 * SESSION_MS)
    assert [cluster.image.node(number).fenced for number in (10_001, 10_002)] == [True, False]


def test_a_coordinator_that_is_known_to_be_gone_is_fenced_whoever_else_is_silent(cluster, keeper) -> None:
    cluster.register(10_001)
    keeper.begin()
    keeper.sessions.end(cluster.image.node(10_001), 0)
    keeper.at(0)
    assert cluster.image.node(10_001).fenced


def test_coordinators_that_stay_away_are_forgotten_brokers_never(cluster, keeper) -> None:
    cluster.register(1)
    cluster.register(10_001)
    keeper.begin()
    keeper.at(ALL_SILENT_MS)
    assert cluster.image.node(10_001).fenced
    keeper.at(ALL_SILENT_MS + FORGET_MS - 1)
    assert cluster.image.node(10_001) is not None
    keeper.at(ALL_SILENT_MS + FORGET_MS)
    assert cluster.image.node(10_001) is None
    assert cluster.image.node(1).fenced


def test_a_coordinator_that_comes_back_is_not_forgotten(cluster, keeper) -> None:
    cluster.register(10_001)
    keeper.begin()
    keeper.at(ALL_SILENT_MS)
    cluster.beat(10_001)
    keeper.heard(10_001, FORGET_MS + ALL_SILENT_MS)
    keeper.at(FORGET_MS + ALL_SILENT_MS)
    keeper.at(FORGET_MS + 2 * ALL_SILENT_MS)
    assert cluster.image.node(10_001).fenced
    keeper.at(FORGET_MS + 2 * ALL_SILENT_MS + 1)
    assert cluster.image.node(10_001) is not None
    assert cluster.image.node(10_001).incarnation_id == UUID(int=1_000_100)


def test_a_coordinator_that_was_never_heard_here_takes_no_shards(cluster, keeper) -> None:
    """Its first session is a long one, because another controller may have kept it; that is no word of its own."""
    cluster.register(10_001)
    cluster.register(10_002)
    keeper.sessions = Sessions(SESSION_MS, 10 * SESSION_MS)
    keeper.soft = replace(keeper.soft, sessions=keeper.sessions)
    keeper.heard(10_001, 0)
    keeper.at(SESSION_MS)
    assert not cluster.image.node(10_001).fenced
    keeper.heard(10_002, SESSION_MS)
    keeper.at(SESSION_MS)
    assert cluster.image.node(10_001).fenced
