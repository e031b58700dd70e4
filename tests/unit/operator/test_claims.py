"""Volume claims: which may be released, and which can be resized."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream_operator
from millstream_cluster.ids import Role
from millstream_operator.kube.objects import PLURALS
from millstream_operator.plan.claims import Claim, bytes_of, claims_of, plan_release, plan_storage
from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.workload import Pod, Workload

CLAIMS = [Claim(n, f"data-demo-broker-{n}", f"claim-{n}", "1Gi") for n in range(3)]
GIVEN_UP = ["claim-2"]


def broker(ordinal: int, **more: bool) -> Pod:
    return replace(Pod(Role.BROKER, ordinal, f"demo-broker-{ordinal}", f"pod-{ordinal}"), **more)


def workloads(*pods: Pod) -> dict[Role, Workload]:
    return {role: Workload() for role in Role} | {Role.BROKER: Workload(3, pods=pods)}


def partition(*isr: int, replicas: tuple[int, ...] = (0, 1, 2), leader: int = 0, minimum: int = 2) -> PartitionStanding:
    return PartitionStanding("orders", 0, leader, replicas, isr, minimum)


GONE = broker(2, is_ready=False, is_running=False)
LEFT = workloads(broker(0), broker(1), GONE)


def blocked(pods: dict[Role, Workload], *partitions: PartitionStanding) -> str:
    [release] = plan_release(GIVEN_UP, CLAIMS, pods, partitions)
    return release.blocked


def test_a_claim_goes_once_others_keep_all_that_its_broker_had() -> None:
    assert blocked(LEFT, partition(0, 1)) == ""
    assert blocked(LEFT, partition(0, 1, replicas=(0, 1))) == "", "it has nothing of that one"


@pytest.mark.parametrize(
    ("pods", "standing", "why"),
    [
        (workloads(broker(0), broker(1), broker(2)), partition(0, 1), "runs with it"),
        (workloads(broker(0), broker(1, is_ready=False), GONE), partition(0, 1), "demo-broker-1 are away too"),
        (workloads(broker(0), broker(1, is_outdated=True), GONE), partition(0, 1), "pods are being exchanged"),
        (LEFT, partition(0), "1 partitions are not kept by enough others: orders-0"),
        (LEFT, partition(2, leader=-1), "not kept by enough others"),
        (LEFT, partition(0, 1, leader=-1), "not kept by enough others"),
        (LEFT, partition(2, replicas=(2,), leader=2), "not kept by enough others"),
    ],
)
def test_whatever_is_not_well_keeps_it(pods: dict[Role, Workload], standing: PartitionStanding, why: str) -> None:
    assert why in blocked(pods, standing)


def test_without_an_answer_it_stays() -> None:
    [release] = plan_release(GIVEN_UP, CLAIMS, LEFT, None)
    assert "no broker answers" in release.blocked


def test_a_claim_made_since_is_not_the_one_that_was_given_up_and_they_go_one_at_a_time() -> None:
    assert plan_release(["another"], CLAIMS, LEFT, []) == []
    both = plan_release(["claim-1", "claim-2"], CLAIMS, workloads(broker(0), replace(GONE, ordinal=1), GONE), [])
    assert all(each.blocked for each in both), "each waits for the other broker: a person has to decide more"
    leaving = [CLAIMS[0], replace(CLAIMS[1], is_leaving=True), CLAIMS[2]]
    [waiting] = plan_release(GIVEN_UP, leaving, LEFT, [])
    assert waiting.blocked == "another claim is being released"


@given(
    states=st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()), min_size=3, max_size=3),
    drawn=st.lists(
        st.tuples(st.permutations(range(3)), st.integers(1, 3), st.sets(st.integers(0, 2)), st.integers(1, 3)),
        max_size=4,
    ),
    given_up=st.sets(st.sampled_from(["claim-0", "claim-1", "claim-2", "gone"])),
)
def test_no_claim_with_the_last_copy_is_ever_released(
    states: list[tuple[bool, bool, bool, bool]],
    drawn: list[tuple[list[int], int, set[int], int]],
    given_up: set[str],
) -> None:
    pods = [
        broker(n, is_ready=ready, is_running=running or ready, is_leaving=leaving, is_outdated=outdated)
        for n, (ready, running, leaving, outdated) in enumerate(states)
    ]
    partitions = []
    for index, (order, factor, in_sync, minimum) in enumerate(drawn):
        replicas = tuple(order[:factor])
        isr = tuple(node for node in replicas if node in in_sync)
        leader = next((node for node in isr if pods[node].is_ready), -1)
        partitions.append(PartitionStanding("t", index, leader, replicas, isr, minimum))
    released = [
        each.claim for each in plan_release(sorted(given_up), CLAIMS, workloads(*pods), partitions) if not each.blocked
    ]
    assert len(released) <= 1
    for claim in released:
        assert claim.uid in given_up
        assert not pods[claim.broker].is_ready
        for each in partitions:
            if claim.broker in each.replicas:
                kept = [node for node in each.isr if node != claim.broker]
                assert each.leader in kept, "who leads has everything that was acknowledged, and is another"
                assert len(kept) >= each.in_sync_to_keep


def test_only_one_module_can_delete_a_claim() -> None:
    assert "PersistentVolumeClaim" not in PLURALS
    root = Path(millstream_operator.__file__).parent
    naming = [path.name for path in root.rglob("*.py") if "persistentvolumeclaims" in path.read_text()]
    assert naming == ["claims.py"]


def brokers(size: str = "1Gi", class_name: str | None = "local", ready: int = 3) -> Workload:
    spec: dict[str, Any] = {"resources": {"requests": {"storage": size}}}
    if class_name:
        spec["storageClassName"] = class_name
    pods = tuple(broker(n, is_ready=n < ready) for n in range(3))
    return Workload(3, pods=pods, volume_claim_templates=({"spec": spec},))


def test_volumes_grow_then_the_stateful_set_is_made_anew() -> None:
    grow = plan_storage({"size": "2Gi", "className": "local"}, brokers(), CLAIMS)
    assert [claim.broker for claim in grow.grow] == [0, 1, 2]
    assert not grow.rebuild
    grown = [replace(claim, size="2Gi") for claim in CLAIMS]
    assert plan_storage({"size": "2Gi", "className": "local"}, brokers(), grown).rebuild
    assert not plan_storage({"size": "2Gi"}, brokers(ready=2), grown).rebuild, "not while a broker is away"
    assert plan_storage({"size": "2Gi"}, brokers("2Gi"), grown) == plan_storage({"size": "1Gi"}, Workload(), ())


def test_what_cannot_be_is_refused_in_words() -> None:
    assert "cannot become smaller" in plan_storage({"size": "500Mi"}, brokers(), CLAIMS).refusal
    assert "cannot be changed" in plan_storage({"size": "1Gi", "className": "fast"}, brokers(), CLAIMS).refusal
    assert plan_storage({"size": "1024Mi"}, brokers(), CLAIMS).refusal == ""


@pytest.mark.parametrize(
    ("text", "size"), [("1Gi", 1 << 30), ("1.5k", 1500), ("7", 7), ("2Ti", 2 << 40), ("1P", 10**15)]
)
def test_sizes_as_kubernetes_writes_them(text: str, size: int) -> None:
    assert bytes_of(text) == size


def test_claims_of_other_stateful_sets_are_not_taken_for_the_brokers() -> None:
    def claim(name: str) -> dict[str, Any]:
        return {"metadata": {"name": name, "uid": "u"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}

    found = claims_of("demo-broker", [claim("data-demo-broker-1"), claim("data-demo-broker-x-1"), claim("lake")])
    assert [each.broker for each in found] == [1]
