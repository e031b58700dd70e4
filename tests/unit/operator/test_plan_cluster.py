"""What a Cluster resource leads to."""

from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.plan.cluster import ClusterPlan, Pods, plan_cluster, readiness
from millstream_operator.plan.conditions import Condition, merge
from millstream_operator.resources.identity import ClusterIdentity

CLUSTER = ClusterIdentity("demo", "apps", "uid-1")


def spec(brokers: int = 3) -> dict[str, Any]:
    return {
        "images": {"broker": "b:1", "controller": "c:1", "coordinator": "o:1"},
        "config": {"num.partitions": "4"},
        "brokers": {"replicas": brokers, "storage": {"size": "1Gi", "className": "local"}},
        "controllers": {"replicas": 2},
        "coordinators": {"replicas": 2},
    }


def stateful_sets(plan: ClusterPlan) -> dict[str, dict[str, Any]]:
    return {m["metadata"]["name"]: m for m in plan.manifests if m["kind"] == "StatefulSet"}


def test_every_role_gets_pods_and_everything_is_owned() -> None:
    plan = plan_cluster(CLUSTER, spec(), Pods(), None, operator_namespace="ops")
    sets = stateful_sets(plan)
    assert {name: found["spec"]["replicas"] for name, found in sets.items()} == {
        "demo-broker": 3,
        "demo-controller": 2,
        "demo-coordinator": 2,
    }
    assert {m["metadata"]["ownerReferences"][0]["uid"] for m in plan.manifests} == {"uid-1"}


def test_pods_do_not_change_with_the_number_of_replicas() -> None:
    def templates(brokers: int) -> list[Any]:
        plan = plan_cluster(CLUSTER, spec(brokers), Pods(), None, operator_namespace="ops")
        return [found["spec"]["template"] for found in stateful_sets(plan).values()]

    assert templates(3) == templates(5)


def test_a_broker_is_told_its_name_and_the_users_settings() -> None:
    pod = stateful_sets(plan_cluster(CLUSTER, spec(), Pods(), None, operator_namespace="ops"))["demo-broker"]["spec"][
        "template"
    ]["spec"]
    arguments = pod["containers"][0]["args"]
    assert "advertised.listeners=PLAINTEXT://$(POD_NAME).demo-broker.apps.svc:9092" in arguments
    assert "num.partitions=4" in arguments


def test_shrinking_waits_until_the_brokers_that_would_go_are_empty() -> None:
    blocked = plan_cluster(CLUSTER, spec(2), Pods(replicas=3), {0: 1, 2: 7}, operator_namespace="ops")
    assert stateful_sets(blocked)["demo-broker"]["spec"]["replicas"] == 3
    assert blocked.refusal is not None
    assert "broker-2 holds 7" in blocked.refusal.message
    unknown = plan_cluster(CLUSTER, spec(2), Pods(replicas=3), None, operator_namespace="ops")
    assert stateful_sets(unknown)["demo-broker"]["spec"]["replicas"] == 3
    free = plan_cluster(CLUSTER, spec(2), Pods(replicas=3), {0: 1, 1: 4}, operator_namespace="ops")
    assert stateful_sets(free)["demo-broker"]["spec"]["replicas"] == 2
    assert free.refusal is None


def test_pods_go_one_at_a_time_by_evictions_and_by_rolls() -> None:
    manifests = plan_cluster(CLUSTER, spec(), Pods(), None, operator_namespace="ops").manifests
    budgets = [m["spec"] for m in manifests if m["kind"] == "PodDisruptionBudget"]
    assert [budget["maxUnavailable"] for budget in budgets] == [1, 1, 1]
    for found in (m["spec"] for m in manifests if m["kind"] == "StatefulSet"):
        assert found["selector"] in [budget["selector"] for budget in budgets]
        assert found["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
        assert found["template"]["spec"]["terminationGracePeriodSeconds"] > 30, "longer than a process takes to leave"


def test_ready_means_every_pod() -> None:
    pods = {Role.BROKER: Pods(3, 2), Role.CONTROLLER: Pods(2, 2), Role.COORDINATOR: Pods(2, 2)}
    assert readiness(pods, spec(), None).message == "ready so far: 2 of 3 brokers"
    assert readiness({**pods, Role.BROKER: Pods(3, 3)}, spec(), None).status is True


def test_the_transition_time_moves_only_with_the_status() -> None:
    first = merge([], [Condition("Ready", False, "A")], 1, 0)
    same = merge(first, [Condition("Ready", False, "B")], 2, 5000)
    assert same[0]["lastTransitionTime"] == first[0]["lastTransitionTime"] == "1970-01-01T00:00:00Z"
    changed = merge(same, [Condition("Ready", True, "C")], 2, 5000)
    assert changed[0]["lastTransitionTime"] == "1970-01-01T00:00:05Z"


def test_pods_keep_to_what_the_restricted_level_allows_and_only_controllers_have_a_token() -> None:
    """The API server judges it in tests/e2e; here is what it does not ask for as well."""
    for name, found in stateful_sets(plan_cluster(CLUSTER, spec(), Pods(), None, operator_namespace="ops")).items():
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
