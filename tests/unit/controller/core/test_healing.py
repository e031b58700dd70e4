"""Brokers that stay away: when their replicas are made again, where, how many at a time, and when they are not."""

import pytest

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_controller.core.healing import NOTED_AFTER_MS, away_max
from millstream_controller.core.nodes.nodes import unregister
from millstream_controller.core.partitions import leader_balance
from millstream_controller.core.partitions.reassignments import Move, alter_reassignments
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_controller.core.upkeep import Now, SoftState, keep_up
from millstream_wire.errors import ErrorCode

TIMEOUT_MS = 600_000
MINUTE_MS = 60_000
ZERO_MS = 1_700_000_000_000
"""The time of day when a test begins."""


class Ward:
    """A cluster under upkeep, with a wall clock, through changes of controllers."""

    def __init__(self, cluster, brokers: int = 6) -> None:
        self.cluster = cluster
        self.at_ms = 0
        self.wall_skew_ms = 0
        self.away: set[int] = set()
        for node in range(1, brokers + 1):
            cluster.register(node)
        self.take_over()

    def take_over(self) -> None:
        """Another controller: it remembers nothing, and its monotonic clock is its own."""
        self.soft = SoftState.new(self.cluster.machine.settings)

    def keep_up(self) -> int:
        """How many decisions that took."""
        steps = 0
        for node in self.cluster.image.brokers.values():
            if node.node_id not in self.away and not node.fenced:
                self.soft.sessions.heard(node, self.at_ms)
        now = Now(self.at_ms, ZERO_MS + self.at_ms + self.wall_skew_ms)
        while self.cluster.do(keep_up(self.cluster.machine, self.soft, now)):
            steps += 1
            assert steps < 500, "upkeep does not come to rest"
        return steps

    def wait(self, ms: int) -> None:
        """Upkeep looks every second."""
        end_ms = self.at_ms + ms
        while self.at_ms < end_ms:
            self.at_ms = min(self.at_ms + 1_000, end_ms)
            self.keep_up()

    def lose(self, *nodes: int) -> None:
        for node in nodes:
            self.away.add(node)
            self.cluster.fence(node)
        self.keep_up()

    def back(self, node: int, **how: object) -> None:
        self.away.discard(node)
        self.cluster.register(node, clean=True, **how)
        self.keep_up()

    def moving(self) -> dict[int, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        return {
            p.partition: (p.replicas, p.adding_replicas, p.removing_replicas)
            for p in self.cluster.image.topic("t").partitions
            if p.adding_replicas or p.removing_replicas
        }

    def set(self, name: str, value: str) -> None:
        self.cluster.machine.apply(r.ConfigChanged(r.ResourceType.BROKER, "", name, value))


@pytest.fixture
def ward(new_cluster) -> Ward:
    ward = Ward(new_cluster())
    replicas = tuple((n, (1 + n % 3, 1 + (n + 1) % 3, 1 + (n + 2) % 3)) for n in range(3))
    ward.cluster.create(NewTopic("t", assignments=replicas, configs=(("min.insync.replicas", "2"),)))
    return ward


def test_a_broker_that_stays_away_is_replaced_after_the_timeout_and_not_before(ward) -> None:
    ward.lose(1)
    ward.wait(TIMEOUT_MS - 1_000)
    assert ward.moving() == {}
    ward.wait(1_000)
    assert ward.moving() == {
        0: ((4, 2, 3, 1), (4,), (1,)),
        1: ((2, 3, 5, 1), (5,), (1,)),
        2: ((3, 6, 2, 1), (6,), (1,)),
    }
    assert ward.keep_up() == 0
    for number, (replicas, (new,), _) in ward.moving().items():
        isr = {*ward.cluster.partition("t", number).isr, new}
        assert ward.cluster.propose("t", tuple(isr), number) == ErrorCode.NONE
        assert ward.cluster.partition("t", number).replicas == replicas[:3]
    assert ward.cluster.machine.replicas_on(1) == []
    ward.wait(TIMEOUT_MS)
    assert ward.moving() == {}


@pytest.mark.parametrize("value", ["0", "-1"])
def test_healing_can_be_turned_off_and_on(ward, value) -> None:
    ward.set("broker.replacement.timeout.ms", value)
    ward.lose(1)
    ward.wait(2 * TIMEOUT_MS)
    assert ward.moving() == {}
    ward.set("broker.replacement.timeout.ms", "5000")
    ward.wait(1_000)
    assert len(ward.moving()) == 3, "it has been away for that long"


def test_a_restart_leaves_no_trace_and_no_clock(ward) -> None:
    before = len(ward.cluster.history)
    ward.lose(1)
    ward.wait(NOTED_AFTER_MS - 1_000)
    ward.back(1)
    noted = [each for each in ward.cluster.history[before:] if isinstance(each, r.NodeFenced) and each.since_ms]
    assert noted == []
    ward.wait(TIMEOUT_MS)
    assert ward.moving() == {}


def test_the_clock_goes_on_while_controllers_come_and_go(ward) -> None:
    """The timeout is ten minutes, and no controller lasts that long."""
    ward.lose(1)
    for _ in range(2):
        ward.wait(9 * MINUTE_MS)
        ward.take_over()
    assert len(ward.moving()) == 3


def test_a_crash_loop_does_not_stop_the_clock_and_being_back_does(ward) -> None:
    ward.lose(1)
    ward.wait(9 * MINUTE_MS)
    ward.cluster.register(1, beat=False)
    ward.take_over()
    ward.wait(1 * MINUTE_MS)
    assert len(ward.moving()) == 3, "it registered, and did nothing else"
    ward.cluster.register(1, beat=True)
    ward.away.discard(1)
    ward.keep_up()
    assert ward.cluster.image.node(1).away_since_ms == 0


def test_a_clock_that_goes_wrong_delays_healing_by_no_more_than_the_timeout(ward) -> None:
    ward.wall_skew_ms = 10 * TIMEOUT_MS
    ward.lose(1)
    ward.wait(MINUTE_MS)
    ward.take_over()
    ward.wall_skew_ms = 0
    ward.wait(TIMEOUT_MS + 2 * NOTED_AFTER_MS)
    assert len(ward.moving()) == 3


def test_no_more_at_a_time_than_is_said_those_with_the_fewest_copies_first(ward) -> None:
    ward.set("broker.replacement.partitions.max", "1")
    ward.cluster.propose("t", (3, 1), 2)
    ward.lose(1)
    ward.wait(TIMEOUT_MS)
    assert list(ward.moving()) == [2], "it has one copy left"
    (new,) = ward.moving()[2][1]
    ward.cluster.propose("t", (3, 2, new), 2)
    ward.keep_up()
    assert list(ward.moving()) == [0]


@pytest.mark.parametrize("replicas", [(1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5)])
def test_what_cannot_be_made_again_takes_no_room_from_what_can(ward, replicas) -> None:
    """Though it has the fewest copies: every broker has one, or the only one without takes nothing."""
    ward.set("broker.replacement.partitions.max", "1")
    ward.cluster.machine.apply(r.ConfigChanged(r.ResourceType.BROKER, "6", "cordoned.log.dirs", "*"))
    ward.cluster.create(NewTopic("a", assignments=((0, replicas),)))
    ward.cluster.propose("a", (2, 1))
    ward.lose(1)
    assert ward.cluster.partition("a", 0).isr == (2,)
    ward.wait(TIMEOUT_MS)
    assert len(ward.moving()) == 1


def test_moves_that_somebody_asked_for_take_no_room_from_healing(ward) -> None:
    ward.set("broker.replacement.partitions.max", "1")
    ward.cluster.create(NewTopic("u", assignments=((0, (2, 3, 4)),)))
    ward.cluster.do(alter_reassignments(ward.cluster.machine, [Move("u", 0, (4, 5, 6))], may_change_factor=False))
    ward.lose(1)
    ward.wait(TIMEOUT_MS)
    assert len(ward.moving()) == 1


def test_a_move_to_who_is_gone_takes_no_room_from_healing(ward) -> None:
    """It does not come to its end, and is one of those to be healed."""
    ward.set("broker.replacement.partitions.max", "1")
    ward.cluster.do(alter_reassignments(ward.cluster.machine, [Move("t", 0, (1, 4, 5))], may_change_factor=False))
    ward.lose(1)
    ward.wait(TIMEOUT_MS)
    targets = {number: set(replicas) - set(removing) for number, (replicas, _, removing) in ward.moving().items()}
    assert sum(1 not in target for target in targets.values()) == 1


def test_fewer_at_a_time_than_are_under_way_begin_nothing(ward) -> None:
    ward.lose(1)
    ward.wait(TIMEOUT_MS)
    before = ward.moving()
    ward.set("broker.replacement.partitions.max", "1")
    ward.lose(4)
    ward.wait(TIMEOUT_MS)
    assert ward.moving() == before


@pytest.mark.parametrize(("brokers", "most"), [(1, 1), (3, 1), (5, 1), (6, 2), (200, 66)])
def test_how_many_may_be_away_at_a_time(brokers, most) -> None:
    assert away_max(brokers) == most


def test_healing_is_suspended_while_too_many_are_away(ward) -> None:
    ward.lose(1, 5, 6)
    ward.wait(TIMEOUT_MS - 1_000)
    assert not ward.soft.healing.loss.suspended, "nobody has to be replaced yet"
    ward.wait(TIMEOUT_MS)
    assert ward.moving() == {}
    assert (ward.soft.healing.loss.suspended, ward.soft.healing.loss.away) == (True, 3)
    ward.back(6)
    assert not ward.soft.healing.loss.suspended
    assert len(ward.moving()) == 3


def test_nothing_is_made_again_where_nobody_is_left_to_take_it(new_cluster) -> None:
    ward = Ward(new_cluster(), brokers=3)
    ward.cluster.create(NewTopic("t", assignments=((0, (1, 2, 3)),)))
    ward.lose(1)
    ward.wait(TIMEOUT_MS)
    assert ward.moving() == {}
    assert not ward.soft.healing.loss.suspended
    ward.cluster.register(4)
    ward.keep_up()
    assert ward.moving() == {0: ((4, 2, 3, 1), (4,), (1,))}


def test_cordoned_brokers_take_nothing(ward) -> None:
    for node in (4, 5):
        ward.cluster.machine.apply(r.ConfigChanged(r.ResourceType.BROKER, str(node), "cordoned.log.dirs", "*"))
    ward.lose(1)
    ward.wait(TIMEOUT_MS)
    assert {adding for _, adding, _ in ward.moving().values()} == {(6,)}


def test_a_broker_that_comes_back_keeps_what_is_not_made_again_yet(ward) -> None:
    ward.lose(1)
    ward.wait(TIMEOUT_MS)
    ward.cluster.propose("t", (2, 3, 4), 0)
    ward.back(1)
    assert set(ward.moving()) == {1, 2}, "it is not in sync yet: whoever is first stays"
    ward.cluster.propose("t", (1, 2, 3), 1)
    ward.keep_up()
    assert set(ward.moving()) == {2}
    assert ward.cluster.partition("t", 1).replicas == (2, 3, 1), "as it was before"
    ward.cluster.propose("t", (1, 2, 3), 2)
    ward.keep_up()
    assert ward.cluster.partition("t", 2).replicas == (3, 1, 2)
    assert [p.partition for p in ward.cluster.machine.replicas_on(1)] == [1, 2]


def test_moves_of_an_earlier_controller_or_of_a_person_are_not_given_up(ward) -> None:
    ward.lose(1)
    ward.wait(TIMEOUT_MS)
    ward.take_over()
    ward.back(1)
    ward.cluster.propose("t", (1, 2, 3), 0)
    ward.wait(2_000)
    assert 0 in ward.moving()


def test_a_move_that_was_replaced_by_a_person_is_theirs(ward) -> None:
    ward.lose(1)
    ward.wait(TIMEOUT_MS)
    ward.cluster.do(alter_reassignments(ward.cluster.machine, [Move("t", 0, (5, 2, 3))], may_change_factor=False))
    ward.back(1)
    ward.cluster.propose("t", (1, 2, 3), 0)
    ward.keep_up()
    assert ward.moving()[0] == ((5, 2, 3, 1, 4), (4, 5), (1, 4))


def test_a_replacement_that_is_lost_in_turn_is_replaced(ward) -> None:
    ward.lose(1)
    ward.wait(TIMEOUT_MS)
    assert ward.moving()[0] == ((4, 2, 3, 1), (4,), (1,))
    ward.lose(4)
    ward.wait(TIMEOUT_MS)
    replicas, adding, removing = ward.moving()[0]
    assert replicas[1:] == (2, 3, 1, 4)
    assert replicas[0] in (5, 6)
    assert (adding, removing) == ((4, replicas[0]), (1, 4))
    assert ward.cluster.propose("t", (2, 3, replicas[0]), 0) == ErrorCode.NONE
    assert ward.cluster.partition("t", 0).replicas == (replicas[0], 2, 3)


def test_a_replacement_of_a_replacement_is_given_up_for_who_was_there_at_first(ward) -> None:
    ward.lose(1)
    ward.wait(TIMEOUT_MS)
    ward.lose(4)
    ward.wait(TIMEOUT_MS)
    ward.back(1)
    ward.cluster.propose("t", (1, 2, 3), 0)
    ward.keep_up()
    assert 0 not in ward.moving()
    assert ward.cluster.partition("t", 0).replicas == (1, 2, 3)


def test_partitions_without_a_leader_are_left_alone(ward) -> None:
    """Their only good copies may be on those who are away."""
    ward.lose(1, 2)
    ward.cluster.fence(3)
    ward.away.add(3)
    ward.cluster.register(7)
    ward.cluster.register(8)
    ward.cluster.register(9)
    ward.wait(2 * TIMEOUT_MS)
    assert not ward.soft.healing.loss.suspended
    assert ward.moving() == {}
    ward.back(3)
    assert set(ward.moving()) == {0, 1, 2}
    for number in range(3):
        partition = ward.cluster.partition("t", number)
        assert set(partition.replicas) > {1, 2, 3}, "whoever is in the ELR stays until the end"


def test_who_is_not_registered_any_more_is_not_waited_for(ward) -> None:
    ward.lose(1)
    assert ward.cluster.do(unregister(ward.cluster.machine, 1)).error == ErrorCode.NONE
    ward.keep_up()
    assert set(ward.moving()) == {0, 1, 2}


def test_one_replica_is_never_made_from_nothing(new_cluster) -> None:
    ward = Ward(new_cluster(), brokers=3)
    ward.cluster.create(NewTopic("t", assignments=((0, (1,)),)))
    ward.lose(1)
    ward.wait(2 * TIMEOUT_MS)
    assert ward.moving() == {}


def test_preferred_leaders_lead_again_after_a_while(ward) -> None:
    ward.lose(1)
    ward.back(1)
    ward.cluster.propose("t", (2, 3, 1), 0)
    ward.wait(299_000)
    assert ward.cluster.partition("t", 0).leader == 2
    ward.wait(1_000)
    assert ward.cluster.partition("t", 0).leader == 1
    ward.set("auto.leader.rebalance.enable", "false")
    ward.lose(1)
    ward.back(1)
    ward.cluster.propose("t", (2, 3, 1), 0)
    ward.wait(600_000)
    assert ward.cluster.partition("t", 0).leader == 2


def test_a_controller_that_has_just_taken_over_lets_leaders_be_for_a_while(ward) -> None:
    """Brokers come back one after the other then, and each election disturbs clients."""
    ward.lose(1)
    ward.back(1)
    ward.cluster.propose("t", (2, 3, 1), 0)
    ward.take_over()
    ward.keep_up()
    ward.wait(299_000)
    assert ward.cluster.partition("t", 0).leader == 2
    ward.wait(1_000)
    assert ward.cluster.partition("t", 0).leader == 1


def test_very_many_leaders_go_back_in_parts_one_after_the_other_and_then_there_is_peace(ward, monkeypatch) -> None:
    monkeypatch.setattr(leader_balance, "ELECTIONS_MAX", 2)
    ward.cluster.create(NewTopic("u", assignments=tuple((number, (1, 2)) for number in range(3))))

    def lead_astray() -> None:
        ward.lose(1)
        ward.back(1)
        for number in range(3):
            ward.cluster.propose("u", (2, 1), number)

    lead_astray()
    ward.keep_up()
    at_ms, balance, machine = ward.at_ms + 300_000, ward.soft.leader_balance, ward.cluster.machine
    parts = []
    for _ in range(3):
        elected = balance.next_step(machine, at_ms)
        ward.cluster.do(Decision(elected, None))
        parts.append(len(elected))
    assert parts == [2, 1, 0]
    lead_astray()
    assert balance.next_step(machine, at_ms + 1_000) == ()
