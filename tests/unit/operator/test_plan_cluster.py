"""What a Cluster resource leads to."""

from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.plan.cluster import plan_cluster
from millstream_operator.plan.conditions import Condition, merge
from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.workload import Pod, Workload
from millstream_operator.resources.identity import ClusterIdentity, Manifest

CLUSTER = ClusterIdentity("demo", "apps", "uid-1")
Manifests = tuple[Manifest, ...]
NOBODY = {role: Workload() for role in Role}


def plan(wanted: dict[str, Any], brokers: Workload | None = None, *partitions: PartitionStanding) -> Manifests:
    workloads = NOBODY if brokers is None else NOBODY | {Role.BROKER: brokers}
    return plan_cluster(
        CLUSTER, wanted, workloads, partitions or None, brokers=wanted["brokers"]["replicas"], operator_namespace="ops"
    )


def partition(*replicas: int, isr: tuple[int, ...] = ()) -> PartitionStanding:
    return PartitionStanding("orders", 0, replicas[0], replicas, isr or replicas, 2)


def brokers_at(replicas: int, *pods: Pod) -> Workload:
    return Workload(replicas, pods=pods)


def spec(brokers: int = 3) -> dict[str, Any]:
    return {
        "images": {"broker": "b:1", "controller": "c:1", "coordinator": "o:1"},
        "config": {"num.partitions": "4"},
        "brokers": {"replicas": brokers, "storage": {"size": "1Gi", "className": "local"}},
        "controllers": {"replicas": 2},
        "coordinators": {"replicas": 2},
    }


def stateful_sets(found: Manifests) -> dict[str, dict[str, Any]]:
    return {m["metadata"]["name"]: m for m in found if m["kind"] == "StatefulSet"}


def test_every_role_gets_pods_and_everything_is_owned() -> None:
    found = plan(spec())
    sets = stateful_sets(found)
    assert {name: found["spec"]["replicas"] for name, found in sets.items()} == {
        "demo-broker": 3,
        "demo-controller": 2,
        "demo-coordinator": 2,
    }
    assert {m["metadata"]["ownerReferences"][0]["uid"] for m in found} == {"uid-1"}


def test_pods_do_not_change_with_the_number_of_replicas() -> None:
    def templates(brokers: int) -> list[Any]:
        return [found["spec"]["template"] for found in stateful_sets(plan(spec(brokers))).values()]

    assert templates(3) == templates(5)


def test_a_broker_is_told_its_name_and_the_users_settings() -> None:
    pod = stateful_sets(plan(spec()))["demo-broker"]["spec"]["template"]["spec"]
    arguments = pod["containers"][0]["args"]
    assert "advertised.listeners=PLAINTEXT://$(POD_NAME).demo-broker.apps.svc:9092" in arguments
    assert "num.partitions=4" in arguments


def away_max(found: Manifests) -> dict[str, int]:
    budgets = [m for m in found if m["kind"] == "PodDisruptionBudget"]
    return {m["metadata"]["name"]: m["spec"]["maxUnavailable"] for m in budgets}


def test_an_eviction_takes_one_pod_of_a_role_and_a_broker_only_where_all_stay_above_their_minimum() -> None:
    whole = plan(spec(), brokers_at(3), partition(0, 1, 2), partition(1))
    assert away_max(whole) == {"demo-broker": 1, "demo-controller": 1, "demo-coordinator": 1}
    at_minimum = plan(spec(), brokers_at(3), partition(0, 1, 2, isr=(0, 1)))
    assert away_max(at_minimum) == {"demo-broker": 0, "demo-controller": 1, "demo-coordinator": 1}
    assert away_max(plan(spec(), brokers_at(3)))["demo-broker"] == 0, "nobody knows what is in sync"


def test_while_pods_are_exchanged_none_of_their_role_may_be_evicted() -> None:
    outdated = Pod(Role.BROKER, 0, "demo-broker-0", "uid", is_outdated=True)
    assert away_max(plan(spec(), brokers_at(1, outdated), partition(0, 1, 2)))["demo-broker"] == 0


def test_kubernetes_exchanges_no_pod_by_itself() -> None:
    manifests = plan(spec())
    budgets = [m["spec"] for m in manifests if m["kind"] == "PodDisruptionBudget"]
    for found in (m["spec"] for m in manifests if m["kind"] == "StatefulSet"):
        assert found["selector"] in [budget["selector"] for budget in budgets]
        assert found["updateStrategy"] == {"type": "OnDelete"}
        assert found["template"]["spec"]["terminationGracePeriodSeconds"] > 30, "longer than a process takes to leave"


def test_the_transition_time_moves_only_with_the_status() -> None:
    first = merge([], [Condition("Ready", False, "A")], 1, 0)
    same = merge(first, [Condition("Ready", False, "B")], 2, 5000)
    assert same[0]["lastTransitionTime"] == first[0]["lastTransitionTime"] == "1970-01-01T00:00:00Z"
    changed = merge(same, [Condition("Ready", True, "C")], 2, 5000)
    assert changed[0]["lastTransitionTime"] == "1970-01-01T00:00:05Z"


def test_pods_keep_to_what_the_restricted_level_allows_and_only_controllers_have_a_token() -> None:
    """The API server judges it in tests/e2e; here is what it does not ask for as well."""
    for name, found in stateful_sets(plan(spec())).items():
        pod = found["spec"]["template"]["spec"]
        [container] = pod["containers"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert pod["automountServiceAccountToken"] is (name == "demo-controller")
