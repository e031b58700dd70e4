"""Pods are exchanged one at a time, and no broker where too few replicas would be in sync."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from millstream_cluster.ids import Role
from millstream_operator.plan.departures import evictions_allowed
from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.roll import Roll, plan_roll
from millstream_operator.plan.workload import Pod, Workload


def pod(role: Role, ordinal: int, **more: bool | str) -> Pod:
    return replace(Pod(role, ordinal, f"demo-{role.value}-{ordinal}", f"{role.value}-{ordinal}"), **more)


def workloads(*pods: Pod, missing: int = 0) -> dict[Role, Workload]:
    by_role = {role: tuple(each for each in pods if each.role is role) for role in Role}
    return {
        role: Workload(len(found) + (missing if role is Role.BROKER else 0), pods=found)
        for role, found in by_role.items()
    }


def partition(*isr: int, minimum: int = 2, replicas: tuple[int, ...] = (0, 1, 2), leader: int = 0) -> PartitionStanding:
    return PartitionStanding("orders", 0, leader, replicas, isr, minimum)


BROKERS = [pod(Role.BROKER, n) for n in range(3)]
OLD = [replace(each, is_outdated=True) for each in BROKERS]


def name_of(roll: Roll) -> str | None:
    return None if roll.replace is None else roll.replace.name


def test_controllers_come_first_then_coordinators_then_brokers() -> None:
    controller, coordinator = (pod(role, 0, is_outdated=True) for role in (Role.CONTROLLER, Role.COORDINATOR))
    whole = [partition(0, 1, 2)]
    assert name_of(plan_roll(workloads(*OLD, controller, coordinator), whole, None)) == "demo-controller-0"
    assert name_of(plan_roll(workloads(*OLD, coordinator), whole, None)) == "demo-coordinator-0"
    assert name_of(plan_roll(workloads(*OLD), whole, None)) == "demo-broker-2"
    assert plan_roll(workloads(*BROKERS), whole, None).condition.reason == "UpToDate"


def test_the_next_broker_waits_until_the_last_one_is_in_sync_again() -> None:
    pods = [OLD[0], OLD[1], BROKERS[2]]
    blocked = plan_roll(workloads(*pods), [partition(0, 1)], None)
    assert (blocked.replace, blocked.condition.reason) == (None, "RollBlocked")
    assert "orders-0 (in sync: 0+1)" in blocked.condition.message
    assert name_of(plan_roll(workloads(*pods), [partition(0, 1, 2)], None)) == "demo-broker-1"


def test_no_pod_goes_while_another_is_away() -> None:
    away = replace(BROKERS[2], is_ready=False)
    assert plan_roll(workloads(OLD[0], OLD[1], away), [partition(0, 1, 2)], None).replace is None
    assert plan_roll(workloads(OLD[0], OLD[1], missing=1), [partition(0, 1, 2)], None).replace is None


def test_a_missing_image_ends_the_roll_at_one_pod_and_going_back_mends_it() -> None:
    broken = replace(BROKERS[2], is_ready=False, is_running=False, image="b:9", trouble="ErrImagePull")
    stopped = plan_roll(workloads(OLD[0], OLD[1], broken), [partition(0, 1)], None)
    assert (stopped.replace, stopped.condition.reason) == (None, "PodDoesNotStart")
    assert "demo-broker-2 does not start: ErrImagePull, image b:9; 2 pods stay" in stopped.condition.message
    back = replace(broken, is_outdated=True)
    mended = plan_roll(workloads(BROKERS[0], BROKERS[1], back), None, None)
    assert name_of(mended) == "demo-broker-2", "it may go though no broker can say what is in sync"


def test_what_cannot_be_kept_blocks_nothing() -> None:
    alone = partition(2, replicas=(2,), leader=2)
    offline = partition(2, replicas=(2, 1), leader=-1)
    assert name_of(plan_roll(workloads(*OLD), [alone, offline], None)) == "demo-broker-2"


def test_who_is_out_of_sync_may_go_though_the_others_may_not() -> None:
    lagging = partition(0, 2)
    assert name_of(plan_roll(workloads(*OLD), [lagging], None)) == "demo-broker-1"
    assert evictions_allowed(Role.BROKER, workloads(*BROKERS)[Role.BROKER], [lagging]) == 0


def test_a_noted_step_is_the_only_one_until_its_pod_is_gone() -> None:
    noted = plan_roll(workloads(*OLD), [partition(0, 1, 2)], "broker-0")
    assert name_of(noted) == "demo-broker-0"
    blocked = plan_roll(workloads(*OLD), [partition(0, 2)], "broker-0")
    assert blocked.replace is None, "broker 1 could go, but somebody may be about to delete broker 0"
    ending = [replace(OLD[0], is_leaving=True, is_ready=False), *OLD[1:]]
    assert plan_roll(workloads(*ending), [partition(0, 1, 2)], "broker-0").replace is None


def test_nothing_goes_before_kubernetes_has_seen_the_template() -> None:
    found = workloads(*BROKERS)
    found[Role.BROKER] = replace(found[Role.BROKER], is_observed=False)
    assert plan_roll(found, [partition(0, 1, 2)], None).condition.reason == "Rolling"


@dataclass
class Broker:
    """A broker's pod as it really is."""

    revision: int = 0
    incarnation: int = 0
    is_up: bool = True
    is_starting: bool = False


@dataclass
class Reality:
    """Brokers, what is in sync, and two operators that look and act at any time, each of which may be stopped between its two steps."""

    brokers: list[Broker]
    partitions: list[PartitionStanding]
    wanted: int = 0
    broken: set[int] = field(default_factory=set)
    """Revisions whose image is not there."""
    noted: str | None = None
    decided: list[str | None] = field(default_factory=lambda: [None, None])

    def uid(self, number: int) -> str:
        return f"{number}/{self.brokers[number].incarnation}"

    def pods(self) -> tuple[Pod, ...]:
        return tuple(
            Pod(
                Role.BROKER,
                number,
                f"broker-{number}",
                self.uid(number),
                is_ready=each.is_up and not each.is_starting,
                is_running=each.revision not in self.broken and (each.is_up or each.is_starting),
                is_outdated=each.revision != self.wanted,
            )
            for number, each in enumerate(self.brokers)
        )

    def workloads(self) -> dict[Role, Workload]:
        return {role: Workload() for role in Role} | {Role.BROKER: Workload(len(self.brokers), pods=self.pods())}

    def leave(self, number: int) -> None:
        """Its process is gone: who else is in sync leads, and it leaves the ISR; the last one stays in it, without a leader."""
        self.brokers[number].is_up = False
        for place, each in enumerate(self.partitions):
            isr = tuple(node for node in each.isr if node != number)
            if isr:
                leader = each.leader if each.leader in isr else isr[0]
                self.partitions[place] = replace(each, isr=isr, leader=leader)
            elif each.leader == number:
                self.partitions[place] = replace(each, leader=-1)


class Rolls(RuleBasedStateMachine):
    """Whatever happens in between, no step takes a partition below the minimum that it could have been kept at."""

    plan = staticmethod(plan_roll)

    @initialize(
        count=st.integers(1, 4),
        drawn=st.lists(
            st.tuples(st.permutations(range(4)), st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=5
        ),
    )
    def begin(self, count: int, drawn: list[tuple[list[int], int, int]]) -> None:
        partitions = []
        for index, (order, factor, minimum) in enumerate(drawn):
            replicas = tuple(node for node in order if node < count)[:factor]
            partitions.append(PartitionStanding("t", index, replicas[0], replicas, replicas, minimum))
        self.reality = Reality([Broker() for _ in range(count)], partitions)

    @rule(is_broken=st.booleans())
    def change_the_template(self, is_broken: bool) -> None:
        self.reality.wanted += 1
        if is_broken:
            self.reality.broken.add(self.reality.wanted)

    @precondition(lambda self: self.reality.wanted > 0)
    @rule()
    def go_back(self) -> None:
        self.reality.wanted -= 1

    @rule(operator=st.integers(0, 1))
    def look(self, operator: int) -> None:
        """An operator decides, and notes it: against what it read, as the API server sees to."""
        roll = self.plan(self.reality.workloads(), self.reality.partitions, self.reality.noted)
        if roll.replace is not None:
            self.reality.decided[operator] = self.reality.noted = roll.replace.uid
        elif self.reality.noted not in [each.uid for each in self.reality.pods()]:
            self.reality.noted = None

    @rule(operator=st.integers(0, 1))
    def act(self, operator: int) -> None:
        uid, self.reality.decided[operator] = self.reality.decided[operator], None
        for number, broker in enumerate(self.reality.brokers):
            if self.reality.uid(number) != uid:
                continue
            self.removed(number)
            broker.incarnation += 1
            broker.revision = self.reality.wanted
            broker.is_starting = broker.revision not in self.reality.broken

    def removed(self, number: int) -> None:
        before = {each.name: each for each in self.reality.partitions}
        self.reality.leave(number)
        for each in self.reality.partitions:
            was = before[each.name]
            if each.isr != was.isr:
                assert len(each.isr) >= was.in_sync_to_keep, f"{each.name} has too few in sync without broker {number}"

    @precondition(lambda self: not any(self.reality.decided))
    @rule(number=st.integers(0, 3))
    def a_broker_dies(self, number: int) -> None:
        """Not between a decision and its execution: no plan can know what nobody has seen yet."""
        if number < len(self.reality.brokers) and self.reality.brokers[number].is_up:
            self.reality.leave(number)
            self.reality.brokers[number].is_starting = self.reality.brokers[number].revision not in self.reality.broken

    @rule(number=st.integers(0, 3))
    def a_broker_is_up_again(self, number: int) -> None:
        if number < len(self.reality.brokers) and self.reality.brokers[number].is_starting:
            self.reality.brokers[number].is_up, self.reality.brokers[number].is_starting = True, False

    @rule(index=st.integers(0, 4), number=st.integers(0, 3))
    def a_replica_catches_up(self, index: int, number: int) -> None:
        if index >= len(self.reality.partitions) or number >= len(self.reality.brokers):
            return
        each = self.reality.partitions[index]
        if not self.reality.brokers[number].is_up or number not in each.replicas:
            return
        if each.leader < 0 and number in each.isr:
            self.reality.partitions[index] = replace(each, leader=number)
        elif each.leader >= 0 and number not in each.isr:
            self.reality.partitions[index] = replace(each, isr=(*each.isr, number))

    @precondition(lambda self: not any(self.reality.decided))
    @rule(index=st.integers(0, 4))
    def a_replica_falls_behind(self, index: int) -> None:
        if index < len(self.reality.partitions):
            each = self.reality.partitions[index]
            if each.leader >= 0 and len(each.isr) > 1:
                isr = tuple(node for node in each.isr if node == each.leader or node != each.isr[-1])
                self.reality.partitions[index] = replace(each, isr=isr)

    @invariant()
    def no_two_brokers_are_being_exchanged(self) -> None:
        pending = {uid for uid in self.reality.decided if uid is not None}
        there = {self.reality.uid(number) for number in range(len(self.reality.brokers))}
        assert len(pending & there) <= 1


TestRolls = Rolls.TestCase
TestRolls.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


def without_asking(
    found: Mapping[Role, Workload], partitions: Sequence[PartitionStanding] | None, noted: str | None
) -> Roll:
    return plan_roll(found, [], noted)


def without_a_note(
    found: Mapping[Role, Workload], partitions: Sequence[PartitionStanding] | None, noted: str | None
) -> Roll:
    return plan_roll(found, partitions, None)


@pytest.mark.parametrize("mutant", [without_asking, without_a_note])
def test_a_plan_that_forgets_a_rule_is_found(mutant: Callable[..., Roll]) -> None:
    class Mutated(Rolls):
        plan = staticmethod(mutant)

    found = settings(
        max_examples=1000,
        stateful_step_count=40,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Mutated, settings=found)
