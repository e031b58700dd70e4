"""Brokers become more and fewer: nothing is lost with one that goes, and one that comes gets its share."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.scale import (
    Cordon,
    ElectPreferred,
    Key,
    Noted,
    Reassign,
    RegisteredBroker,
    Scale,
    Step,
    Throttle,
    Uncordon,
    Unregister,
    Unthrottle,
    View,
    Wanted,
    plan_scale,
)

SIZE = 1000


@dataclass
class Cluster:
    """Brokers and a controller as they are, and a StatefulSet."""

    pods: int
    brokers: dict[int, RegisteredBroker]
    replicas: dict[Key, tuple[int, ...]] = field(default_factory=dict)
    moving: dict[Key, tuple[int, ...]] = field(default_factory=dict)
    noted: Noted = field(default_factory=Noted)
    throttled: set[str] = field(default_factory=set)
    placed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, count: int, *replicas: tuple[int, ...]) -> "Cluster":
        brokers = {node: RegisteredBroker() for node in range(count)}
        return cls(count, brokers, {("t", index): each for index, each in enumerate(replicas)})

    def view(self) -> View:
        partitions = [
            PartitionStanding(
                topic, index, nodes[0], self.shown((topic, index)), nodes, 1, is_moving=(topic, index) in self.moving
            )
            for (topic, index), nodes in sorted(self.replicas.items())
        ]
        return View(dict(self.brokers), partitions, dict.fromkeys(self.replicas, SIZE), self.placed)

    def shown(self, key: Key) -> tuple[int, ...]:
        """As Metadata does: the target, and behind it those that leave."""
        target, now = self.moving.get(key, ()), self.replicas[key]
        return (*target, *(node for node in now if node not in target))

    def look(self, wanted: Wanted, steps_max: int = 100, planner: Callable[..., Scale] = plan_scale) -> Scale:
        """What a look of the operator does, which may be stopped after any step."""
        scale = planner(wanted, self.pods, self.view(), self.noted)
        if scale.replicas < self.pods:
            self.expect_empty(range(scale.replicas, self.pods))
            for node in range(scale.replicas, self.pods):
                if node in self.brokers:
                    self.brokers[node] = replace(self.brokers[node], is_live=False)
        self.pods = scale.replicas
        self.noted = scale.noted
        for step in scale.steps[:steps_max]:
            self.perform(step)
        if scale.after is not None and steps_max >= len(scale.steps):
            self.noted = scale.after
        return scale

    def expect_empty(self, nodes: range) -> None:
        for key in self.replicas:
            assert not set(nodes).intersection(self.shown(key)), f"{key} would be lost with {nodes}"

    def perform(self, step: Step) -> None:
        match step:
            case Cordon(broker):
                self.brokers[broker] = replace(self.brokers[broker], is_cordoned=True)
            case Uncordon(broker):
                if broker in self.brokers:
                    self.brokers[broker] = replace(self.brokers[broker], is_cordoned=False)
            case Reassign(replicas):
                self.moving.update(replicas)
            case Unregister(broker):
                assert not self.brokers[broker].is_live
                self.expect_empty(range(broker, broker + 1))
                del self.brokers[broker]
            case Throttle(topics):
                self.throttled |= set(topics)
            case Unthrottle(topics):
                self.throttled -= set(topics)
            case ElectPreferred():
                pass

    def moves_end(self) -> None:
        self.replicas |= self.moving
        self.moving.clear()

    def settle(self, wanted: Wanted) -> int:
        """Look until nothing changes; how often that was."""
        for looks in range(200):
            before = (self.pods, self.noted, dict(self.replicas), dict(self.brokers))
            self.look(wanted)
            self.moves_end()
            for node in range(self.pods):
                self.brokers.setdefault(node, RegisteredBroker())
            if before == (self.pods, self.noted, self.replicas, self.brokers):
                return looks
        raise AssertionError("it never settles")

    def load(self) -> Counter[int]:
        return Counter(node for nodes in self.replicas.values() for node in nodes)


def everywhere(count: int, partitions: int, factor: int) -> Cluster:
    return Cluster.of(count, *(tuple((index + n) % count for n in range(factor)) for index in range(partitions)))


def test_a_broker_that_is_added_gets_its_share_of_replicas_and_leaders() -> None:
    cluster = everywhere(3, 12, 3)
    cluster.look(Wanted(3))
    cluster.settle(Wanted(4))
    assert cluster.load() == {0: 9, 1: 9, 2: 9, 3: 9}
    led = Counter(nodes[0] for nodes in cluster.replicas.values())
    assert max(led.values()) - min(led[node] for node in range(4)) <= 1, led
    assert cluster.noted == Noted(balanced=4)


def test_a_topic_whose_brokers_a_resource_names_stays_where_it_is() -> None:
    """Evened out it would be moved back, and so on."""
    cluster = Cluster.of(3, *[(0, 1, 2)] * 6)
    cluster.settle(Wanted(3))
    cluster.placed = frozenset({"t"})
    cluster.pods = 4
    cluster.brokers[3] = RegisteredBroker()
    cluster.settle(Wanted(4))
    assert not any(3 in each for each in cluster.replicas.values())
    cluster.placed, cluster.noted = frozenset(), Noted(balanced=3)
    cluster.settle(Wanted(4))
    assert any(3 in each for each in cluster.replicas.values())


def test_a_plan_is_told_with_its_bytes_before_anything_moves() -> None:
    cluster = everywhere(3, 12, 3)
    cluster.look(Wanted(3))
    cluster.look(Wanted(4))
    cluster.brokers[3] = RegisteredBroker()
    told = cluster.look(Wanted(4, bytes_per_second=100))
    assert told.steps == ()
    assert told.movement is not None
    assert (told.movement.partitions, told.movement.bytes, told.movement.seconds) == (9, 9 * SIZE, 90)
    begun = cluster.look(Wanted(4, bytes_per_second=100))
    assert [type(step) for step in begun.steps] == [Throttle, Reassign]
    cluster.settle(Wanted(4, bytes_per_second=100))
    assert cluster.throttled == set()


def test_a_rebalance_waits_until_every_broker_is_there_and_may_be_turned_off() -> None:
    cluster = everywhere(3, 12, 3)
    cluster.look(Wanted(3))
    cluster.look(Wanted(5))
    cluster.brokers[3] = RegisteredBroker()
    waiting = cluster.look(Wanted(5))
    assert (waiting.steps, waiting.condition and waiting.condition.reason) == ((), "ScalingUp")
    cluster.brokers[4] = RegisteredBroker()
    assert cluster.look(Wanted(5, rebalances=False)).steps == ()


def test_brokers_that_go_are_emptied_then_their_pods_go_then_they_are_forgotten() -> None:
    cluster = everywhere(4, 12, 3)
    cluster.look(Wanted(4))
    cordoned = cluster.look(Wanted(3))
    assert (cordoned.steps, cordoned.replicas) == ((Cordon(3),), 4)
    cluster.settle(Wanted(3))
    assert cluster.load() == {0: 12, 1: 12, 2: 12}
    assert (cluster.pods, sorted(cluster.brokers)) == (3, [0, 1, 2])
    assert cluster.noted == Noted(balanced=3)


def test_a_factor_that_the_others_cannot_have_blocks_it_and_names_the_partition() -> None:
    cluster = everywhere(3, 2, 3)
    cluster.look(Wanted(3))
    cluster.look(Wanted(2))
    blocked = cluster.look(Wanted(2))
    assert blocked.replicas == 3
    assert blocked.condition is not None
    assert blocked.condition.reason == "ScaleDownBlocked"
    assert "t-0 (3 replicas)" in blocked.condition.message


def test_who_answers_nothing_keeps_every_pod() -> None:
    unknown = plan_scale(Wanted(2), 3, None, Noted(balanced=3))
    assert (unknown.replicas, unknown.condition and unknown.condition.reason) == (3, "ScaleDownBlocked")


def test_going_back_in_the_middle_opens_the_broker_again_and_gives_it_its_share() -> None:
    cluster = everywhere(4, 12, 3)
    cluster.look(Wanted(4))
    for _ in range(3):
        cluster.look(Wanted(3))
    cluster.moves_end()
    assert cluster.load()[3] == 0
    cluster.settle(Wanted(4))
    assert cluster.load() == {0: 9, 1: 9, 2: 9, 3: 9}
    assert not any(broker.is_cordoned for broker in cluster.brokers.values())


def test_whom_a_person_cordoned_stays_cordoned() -> None:
    cluster = everywhere(3, 3, 3)
    cluster.brokers[1] = RegisteredBroker(is_cordoned=True)
    cluster.settle(Wanted(4))
    assert cluster.brokers[1].is_cordoned


class Scaling(RuleBasedStateMachine):
    """Whatever happens in between, and wherever a look is stopped, no pod goes with a replica, and none that holds one is forgotten."""

    planner = staticmethod(plan_scale)

    @initialize(count=st.integers(1, 5), factors=st.lists(st.integers(1, 3), min_size=1, max_size=8))
    def begin(self, count: int, factors: list[int]) -> None:
        self.cluster = Cluster.of(
            count,
            *(tuple((index + n) % count for n in range(min(factor, count))) for index, factor in enumerate(factors)),
        )
        self.wanted = Wanted(count)
        self.cluster.look(self.wanted)

    @rule(count=st.integers(1, 5), rate=st.sampled_from([None, 100]))
    def ask_for(self, count: int, rate: int | None) -> None:
        self.wanted = Wanted(count, bytes_per_second=rate)

    @rule(steps_max=st.integers(0, 4))
    def look(self, steps_max: int) -> None:
        self.cluster.look(self.wanted, steps_max, self.planner)

    @rule()
    def moves_end(self) -> None:
        self.cluster.moves_end()

    @rule(node=st.integers(0, 4))
    def a_broker_comes(self, node: int) -> None:
        if node < self.cluster.pods:
            known = self.cluster.brokers.get(node, RegisteredBroker())
            self.cluster.brokers[node] = replace(known, is_live=True)

    @precondition(lambda self: self.cluster.brokers)
    @rule(node=st.integers(0, 4))
    def a_broker_dies(self, node: int) -> None:
        if node in self.cluster.brokers:
            self.cluster.brokers[node] = replace(self.cluster.brokers[node], is_live=False)

    @rule(name=st.sampled_from("abc"), factor=st.integers(1, 3))
    def a_topic_is_made(self, name: str, factor: int) -> None:
        """Where the controller puts it: on brokers that live and are open."""
        open_ones = [
            node for node, each in sorted(self.cluster.brokers.items()) if each.is_live and not each.is_cordoned
        ]
        if len(open_ones) >= factor and (name, 0) not in self.cluster.replicas:
            self.cluster.replicas[name, 0] = tuple(open_ones[-factor:])

    def teardown(self) -> None:
        """Left alone it always comes to an end, unless there are fewer brokers than a partition has replicas."""
        for node in range(self.cluster.pods):
            known = self.cluster.brokers.get(node, RegisteredBroker())
            self.cluster.brokers[node] = replace(known, is_live=True)
        self.cluster.moves_end()
        self.cluster.settle(self.wanted)
        if all(len(nodes) <= self.wanted.brokers for nodes in self.cluster.replicas.values()):
            assert self.cluster.pods == self.wanted.brokers
            assert sorted(self.cluster.brokers) == list(range(self.wanted.brokers))
            assert not any(each.is_cordoned for each in self.cluster.brokers.values())
            assert self.cluster.throttled == set()


TestScaling = Scaling.TestCase
TestScaling.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


def shrinks_first(wanted: Wanted, pods: int, view: View | None, noted: Noted) -> Scale:
    scale = plan_scale(wanted, pods, view, noted)
    return replace(scale, replicas=wanted.brokers)


def forgets_whoever_is_away(wanted: Wanted, pods: int, view: View | None, noted: Noted) -> Scale:
    scale = plan_scale(wanted, pods, view, noted)
    away = [node for node, broker in (view.brokers if view else {}).items() if not broker.is_live]
    return replace(scale, steps=tuple(map(Unregister, away)))


@pytest.mark.parametrize("mutant", [shrinks_first, forgets_whoever_is_away])
def test_a_plan_that_skips_a_step_is_found(mutant: Callable[..., Scale]) -> None:
    class Mutated(Scaling):
        planner = staticmethod(mutant)

    found = settings(
        max_examples=500,
        stateful_step_count=30,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises(AssertionError, match="would be lost"):
        run_state_machine_as_test(Mutated, settings=found)
