"""Whether a Cluster works, as its status says it."""

from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.plan.conditions import Condition, merge, turned
from millstream_operator.plan.health import partition_fields, readiness
from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.workload import Pod, Workload, workload_of

SPEC: dict[str, Any] = {"brokers": {"replicas": 3}, "controllers": {"replicas": 2}, "coordinators": {"replicas": 2}}


def workload(role: Role, count: int, *others: Pod) -> Workload:
    ready = [Pod(role, n, f"demo-{role.value}-{n}", f"uid-{n}") for n in range(count)]
    return Workload(count + len(others), pods=(*ready, *others))


def cluster(*broken: Pod) -> dict[Role, Workload]:
    return {
        Role.BROKER: workload(Role.BROKER, 3 - len(broken), *broken),
        Role.CONTROLLER: workload(Role.CONTROLLER, 2),
        Role.COORDINATOR: workload(Role.COORDINATOR, 2),
    }


def partition(topic: str, leader: int, isr: tuple[int, ...], *, internal: bool = False) -> PartitionStanding:
    return PartitionStanding(topic, 0, leader, (0, 1, 2), isr, 2, is_internal=internal)


def test_ready_means_that_every_partition_is_served_and_every_pod_is_there() -> None:
    assert readiness(cluster(), SPEC, [partition("orders", 0, (0, 1))]).status is True
    assert readiness(cluster(), SPEC, []).status is True


def test_every_pod_ready_is_not_enough() -> None:
    standing = [partition("orders", -1, (2,)), partition("__consumer_offsets", -1, (2,), internal=True)]
    found = readiness(cluster(), SPEC, standing)
    assert (found.status, found.reason) == (False, "PartitionsOffline")
    assert "2 partitions have no leader" in found.message
    assert "1 of them of __consumer_offsets" in found.message
    assert "broker 2 (2)" in found.message


def test_what_has_no_copy_left_is_told_with_where_it_was_and_how_to_go_on() -> None:
    found = readiness(cluster(), SPEC, [partition("orders", -1, (), internal=False)])
    assert "broker 0 (1), broker 1 (1), broker 2 (1)" in found.message
    assert "of 1 no copy is left: to begin them anew, empty, set spec.acceptLoss to " in found.message


def test_too_few_in_sync_is_not_ready_and_names_them() -> None:
    found = readiness(cluster(), SPEC, [partition("orders", 0, (0,))])
    assert (found.status, found.reason) == (False, "PartitionsUnderMinIsr")
    assert "orders-0" in found.message


def test_a_topic_of_fewer_replicas_than_its_minimum_asks_for_has_all_it_can_have() -> None:
    alone = PartitionStanding("alone", 0, 0, (0,), (0,), 2)
    assert not alone.is_under_min_isr
    assert readiness(cluster(), SPEC, [alone]).status is True


def test_a_pod_that_does_not_start_is_named_with_its_image() -> None:
    broken = Pod(Role.BROKER, 2, "demo-broker-2", "uid", False, False, image="b:9", trouble="ImagePullBackOff")
    found = readiness(cluster(broken), SPEC, [partition("orders", 0, (0, 1))])
    assert found.reason == "PodsNotReady"
    assert found.message == "ready so far: 2 of 3 brokers; demo-broker-2: ImagePullBackOff (b:9)"


def test_nobody_who_answers_is_unknown_and_leaves_the_numbers() -> None:
    assert readiness(cluster(), SPEC, None).status is None
    assert partition_fields(None) == {}


def test_numbers_of_partitions() -> None:
    standing = [partition("a", 0, (0, 1, 2)), partition("b", 0, (0,)), partition("c", -1, ())]
    counts = partition_fields(standing)["partitions"]
    assert counts == {"total": 3, "offline": 1, "underReplicated": 2, "underMinIsr": 1, "reassigning": 0}


def test_an_event_is_due_when_a_condition_says_something_else_and_not_when_it_counts_on() -> None:
    before = merge([], [Condition("Ready", False, "PodsNotReady", "1 of 3")], 1, 0)
    assert turned(before, [Condition("Ready", False, "PodsNotReady", "2 of 3")]) == []
    offline = Condition("Ready", False, "PartitionsOffline")
    assert turned(before, [offline]) == [offline]


def pod_manifest(revision: str, **status: Any) -> dict[str, Any]:
    labels = {"controller-revision-hash": revision, "apps.kubernetes.io/pod-index": "1"}
    metadata = {"name": "demo-broker-1", "uid": "pod", "labels": labels, "ownerReferences": [{"uid": "set"}]}
    return {"metadata": metadata, "spec": {"containers": [{"image": "b:1"}]}, "status": status}


def test_pods_as_kubernetes_shows_them() -> None:
    waiting = {"state": {"waiting": {"reason": "ImagePullBackOff"}}}
    stateful_set = {
        "metadata": {"uid": "set", "generation": 2},
        "spec": {"replicas": 3},
        "status": {"observedGeneration": 2, "updateRevision": "new"},
    }
    other = pod_manifest("new")
    other["metadata"]["ownerReferences"] = [{"uid": "somebody else's"}]
    found = workload_of(Role.BROKER, stateful_set, [pod_manifest("old", containerStatuses=[waiting]), other])
    [pod] = found.pods
    assert (pod.is_outdated, pod.is_running, pod.is_ready, pod.trouble) == (True, False, False, "ImagePullBackOff")
    unseen = workload_of(Role.BROKER, {**stateful_set, "metadata": {"uid": "set", "generation": 3}}, [])
    assert not unseen.is_observed
