"""Directories that fail while their broker lives: when what was in one is made again, and where."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.ids import LOST_DIRECTORY
from millstream_controller.core.nodes.nodes import Heartbeat, Registration, heartbeat, register
from millstream_controller.core.partitions.whereabouts import Whereabouts, note_whereabouts
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_controller.core.upkeep import Now, SoftState, keep_up
from millstream_wire.errors import ErrorCode

TIMEOUT_MS = 600_000
ZERO_MS = 1_700_000_000_000
A, B = UUID(int=10), UUID(int=11)


class Ward:
    """Brokers under upkeep, of which the first has directories A and B, and its replicas in A."""

    def __init__(self, cluster, brokers: int) -> None:
        self.cluster = cluster
        self.at_ms = 0
        self.wall_skew_ms = 0
        self.offline: tuple[UUID, ...] = ()
        self.replaceable: Sequence[UUID] = ()
        """What broker 1 says with its heartbeats."""
        self.dead: set[int] = set()
        for node_id in range(1, brokers + 1):
            cluster.register(node_id, port=9090 + node_id)
        self.take_over()
        self.come(A, B)
        replicas = tuple((n, (1 + n % 3, 1 + (n + 1) % 3, 1 + (n + 2) % 3)) for n in range(3))
        cluster.create(NewTopic("t", assignments=replicas, configs=(("min.insync.replicas", "2"),)))
        cluster.create(NewTopic("single", assignments=((0, (1,)),)))
        for topic, number in (("t", 0), ("t", 1), ("t", 2), ("single", 0)):
            self.tell(topic, number, A)

    def come(self, *log_dirs: UUID) -> None:
        node = self.cluster.image.node(1)
        wanted = Registration(
            1,
            self.cluster.image.cluster_id,
            node.incarnation_id,
            node.listeners,
            None,
            log_dirs,
            node.features,
            node.epoch,
        )
        assert self.cluster.do(register(self.cluster.machine, wanted, session_live=True)).outcome.error == 0
        self.beat()

    def beat(self) -> None:
        node = self.cluster.image.node(1)
        beat = Heartbeat(1, node.epoch, self.cluster.image.offset, False, False, self.offline)
        self.cluster.do(heartbeat(self.cluster.machine, beat))
        self.soft.healing.directories.told(node, self.replaceable)

    def tell(self, topic: str, number: int, directory: UUID) -> None:
        partition = self.cluster.partition(topic, number)
        places = {(partition.topic_id, number): directory}
        told = Whereabouts(1, self.cluster.image.node(1).epoch, places)
        self.cluster.do(note_whereabouts(self.cluster.machine, told))

    def fail(self) -> None:
        self.offline = (A,)
        self.beat()
        self.keep_up()

    def take_over(self) -> None:
        """Another controller: it remembers nothing."""
        self.soft = SoftState.new(self.cluster.machine.settings)

    def keep_up(self) -> None:
        for node in self.cluster.image.brokers.values():
            if node.node_id not in self.dead:
                self.soft.sessions.heard(node, self.at_ms)
        now = Now(self.at_ms, ZERO_MS + self.at_ms + self.wall_skew_ms)
        steps = 0
        while self.cluster.do(keep_up(self.cluster.machine, self.soft, now)):
            steps += 1
            assert steps < 500, "upkeep does not come to rest"

    def wait(self, ms: int) -> None:
        end_ms = self.at_ms + ms
        while self.at_ms < end_ms:
            self.at_ms = min(self.at_ms + 1_000, end_ms)
            if 1 not in self.dead:
                self.beat()
            self.keep_up()

    def set(self, name: str, value: str) -> None:
        self.cluster.machine.apply(r.ConfigChanged(r.ResourceType.BROKER, "", name, value))

    def anew(self) -> list[int]:
        """Partitions that broker 1 is to make again itself."""
        partitions = self.cluster.image.topic("t").partitions
        return [each.partition for each in partitions if each.directory_of(1) == LOST_DIRECTORY]

    def moving(self) -> dict[int, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        return {
            p.partition: (p.replicas, p.adding_replicas, p.removing_replicas)
            for p in self.cluster.image.topic("t").partitions
            if p.adding_replicas or p.removing_replicas
        }


@pytest.fixture
def three(new_cluster) -> Ward:
    return Ward(new_cluster(), 3)


@pytest.fixture
def five(new_cluster) -> Ward:
    return Ward(new_cluster(), 5)


def test_its_broker_makes_them_again_after_the_timeout_if_it_has_room(five) -> None:
    five.replaceable = (A,)
    five.fail()
    five.wait(TIMEOUT_MS - 1_000)
    assert (five.anew(), five.moving()) == ([], {})
    five.wait(1_000)
    assert (five.anew(), five.moving()) == ([0, 1, 2], {})
    partition = five.cluster.partition("t", 1)
    assert (partition.replicas, partition.isr) == ((2, 3, 1), (2, 3))
    assert five.cluster.partition("single").directories == (A,), "nobody has it but that directory"
    assert five.cluster.propose("t", (2, 3, 1), 1) is ErrorCode.INELIGIBLE_REPLICA, "nobody knows where it is"
    five.tell("t", 1, B)
    assert five.cluster.propose("t", (2, 3, 1), 1) is ErrorCode.NONE
    five.wait(TIMEOUT_MS)
    assert five.anew() == [0, 2]


def test_others_make_them_again_if_it_has_no_room(five) -> None:
    five.fail()
    five.wait(TIMEOUT_MS)
    assert five.anew() == []
    assert five.moving() == {
        0: ((4, 2, 3, 1), (4,), (1,)),
        1: ((2, 3, 5, 1), (5,), (1,)),
        2: ((3, 4, 2, 1), (4,), (1,)),
    }
    five.cluster.propose("t", (2, 3, 4), 0)
    assert five.cluster.partition("t", 0).replicas == (4, 2, 3)


def test_without_room_and_without_others_they_wait(three) -> None:
    three.fail()
    three.wait(2 * TIMEOUT_MS)
    assert (three.anew(), three.moving()) == ([], {})
    three.replaceable = (A,)
    three.wait(1_000)
    assert three.anew() == [0, 1, 2]


def test_a_directory_that_comes_back_before_that_is_used_as_it_is(five) -> None:
    five.replaceable = (A,)
    five.fail()
    five.wait(TIMEOUT_MS - 1_000)
    five.offline = five.replaceable = ()
    five.come(A, B)
    five.wait(TIMEOUT_MS)
    assert (five.anew(), five.moving()) == ([], {})
    assert five.cluster.image.node(1).failed_log_dirs == ()
    assert five.cluster.propose("t", (2, 3, 1)) is ErrorCode.NONE


def test_a_directory_that_comes_back_before_others_have_it_keeps_what_it_has(five) -> None:
    five.fail()
    five.wait(TIMEOUT_MS)
    five.offline = ()
    five.come(A, B)
    five.cluster.propose("t", (1, 2, 3), 0)
    five.keep_up()
    assert set(five.moving()) == {1, 2}
    assert five.cluster.partition("t", 0).replicas == (1, 2, 3)


def test_the_clock_goes_on_through_takeovers_and_restarts_of_the_broker(three) -> None:
    three.replaceable = (A,)
    three.fail()
    for _ in range(2):
        three.wait(290_000)
        three.take_over()
        three.come(B)
    assert three.anew() == []
    three.wait(20_000)
    assert three.anew() == [0, 1, 2]


def test_a_moment_leaves_no_record(three) -> None:
    three.fail()
    three.wait(9_000)
    assert three.cluster.image.node(1).failed_log_dirs == ()
    three.wait(1_000)
    assert three.cluster.image.node(1).failed_log_dirs == (r.FailedLogDir(A, ZERO_MS),)


def test_a_clock_that_goes_wrong_delays_it_by_no_more_than_the_timeout(three) -> None:
    three.replaceable = (A,)
    three.wall_skew_ms = 10 * TIMEOUT_MS
    three.fail()
    three.wait(60_000)
    three.take_over()
    three.wall_skew_ms = 0
    three.wait(TIMEOUT_MS + 20_000)
    assert three.anew() == [0, 1, 2]


def test_what_somebody_counts_on_is_not_given_up_by_its_broker(three) -> None:
    """Broker 2 dies first: with one in sync, the copy in the failed directory may be what has everything that was acknowledged."""
    three.replaceable = (A,)
    three.set("broker.replacement.timeout.ms", "20000")
    three.dead.add(3)
    three.cluster.fence(3)
    three.fail()
    for number in range(3):
        assert three.cluster.partition("t", number).isr == (2,)
        assert 1 in three.cluster.partition("t", number).eligible_leader_replicas
    three.wait(60_000)
    assert three.anew() == []
    three.dead.clear()
    three.cluster.register(3, port=9093, clean=True)
    three.cluster.propose("t", (2, 3), 1)
    three.wait(1_000)
    assert three.anew() == [1]


def test_no_more_at_a_time_than_is_said(three) -> None:
    three.set("broker.replacement.partitions.max", "1")
    three.replaceable = (A,)
    three.fail()
    three.wait(TIMEOUT_MS)
    (first,) = three.anew()
    three.tell("t", first, B)
    three.wait(10_000)
    assert three.anew() == [], "it is made, and not in sync yet"
    three.cluster.propose("t", (2, 3, 1), first)
    three.wait(1_000)
    assert len(three.anew()) == 1


def test_others_do_not_begin_before_the_broker_has_said_whether_it_has_room(five) -> None:
    five.replaceable = (A,)
    five.fail()
    five.wait(TIMEOUT_MS - 1_000)
    five.take_over()
    five.at_ms += 1_000
    five.keep_up()
    assert (five.anew(), five.moving()) == ([], {}), "no heartbeat has come to this controller"
    five.wait(1_000)
    assert five.anew() == [0, 1, 2]


def test_it_is_suspended_while_too_many_brokers_are_away(five) -> None:
    five.replaceable = (A,)
    five.set("broker.replacement.timeout.ms", "20000")
    five.fail()
    for node_id in (4, 5):
        five.dead.add(node_id)
        five.cluster.fence(node_id)
    five.wait(60_000)
    assert five.soft.healing.loss.suspended
    assert five.anew() == []


def test_a_broker_that_goes_away_is_waited_for_as_a_broker(five) -> None:
    five.replaceable = (A,)
    five.fail()
    five.wait(TIMEOUT_MS - 5_000)
    five.dead.add(1)
    five.cluster.fence(1)
    five.wait(60_000)
    assert (five.anew(), five.moving()) == ([], {})
    five.wait(TIMEOUT_MS)
    assert set(five.moving()) == {0, 1, 2}


def test_healing_that_is_turned_off_leaves_directories_alone(three) -> None:
    three.replaceable = (A,)
    three.set("broker.replacement.timeout.ms", "0")
    three.fail()
    three.wait(2 * TIMEOUT_MS)
    assert three.anew() == []
