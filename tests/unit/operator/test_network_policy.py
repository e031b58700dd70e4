"""Who reaches whom: the policies of a cluster, judged as a network plugin judges them."""

from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.plan.cluster import plan_cluster, superfluous
from millstream_operator.plan.workload import Workload
from millstream_operator.resources.identity import HTTP_PORT, KAFKA_PORTS, ClusterIdentity
from millstream_operator.resources.network_policy import network_policies

CLUSTER = ClusterIdentity("demo", "apps", "uid-1")
NOBODY = {role: Workload() for role in Role}
STRANGER = ("apps", {"app": "shop"})
OPERATOR = ("ops", {"app.kubernetes.io/name": "millstream-operator"})
API_SERVER = ("", {})

Pod = tuple[str, dict[str, str]]


def own(role: Role) -> Pod:
    return "apps", CLUSTER.labels(role)


def spec(**more: Any) -> dict[str, Any]:
    return {
        "images": {"broker": "b:1", "controller": "c:1", "coordinator": "o:1"},
        "brokers": {"replicas": 3, "storage": {"size": "1Gi"}},
        "controllers": {"replicas": 2},
        "coordinators": {"replicas": 2},
        **more,
    }


def is_peer(peer: dict[str, Any], pod: Pod) -> bool:
    namespace, labels = pod
    wanted = peer.get("namespaceSelector", {"matchLabels": {"kubernetes.io/metadata.name": "apps"}})["matchLabels"]
    selector = peer["podSelector"]["matchLabels"]
    return wanted == {"kubernetes.io/metadata.name": namespace} and selector.items() <= labels.items()


def passes(rules: list[dict[str, Any]], side: str, pod: Pod, port: int) -> bool:
    return any(
        (not rule.get(side) or any(is_peer(peer, pod) for peer in rule[side]))
        and ("ports" not in rule or port in [each["port"] for each in rule["ports"]])
        for rule in rules
    )


def policy(role: Role, **more: Any) -> dict[str, Any]:
    found = [p["spec"] for p in network_policies(CLUSTER, spec(**more), "ops")]
    [one] = [each for each in found if each["podSelector"]["matchLabels"] == CLUSTER.labels(role)]
    return one


def test_controllers_are_for_the_clusters_own_pods() -> None:
    ingress = policy(Role.CONTROLLER)["ingress"]
    port = KAFKA_PORTS[Role.CONTROLLER]
    assert all(passes(ingress, "from", own(role), port) for role in Role)
    assert not passes(ingress, "from", STRANGER, port)
    assert not passes(ingress, "from", ("elsewhere", CLUSTER.labels(Role.BROKER)), port)


def test_clients_reach_brokers_and_coordinators_and_metrics_are_for_everybody() -> None:
    for role in (Role.BROKER, Role.COORDINATOR):
        assert passes(policy(role)["ingress"], "from", STRANGER, KAFKA_PORTS[role])
    for role in Role:
        assert passes(policy(role)["ingress"], "from", STRANGER, HTTP_PORT)
        assert not passes(policy(role)["ingress"], "from", STRANGER, 22)


def test_controllers_and_coordinators_connect_to_their_own_and_the_former_to_the_api_server() -> None:
    for role in (Role.CONTROLLER, Role.COORDINATOR):
        egress = policy(role)["egress"]
        assert all(passes(egress, "to", own(other), KAFKA_PORTS[other]) for other in Role)
        assert not passes(egress, "to", STRANGER, 9092)
        assert passes(egress, "to", API_SERVER, 6443) is (role is Role.CONTROLLER)
        assert passes(egress, "to", API_SERVER, 53)
    keys = {"to": [{"podSelector": {"matchLabels": {"app": "shop"}}}], "ports": [{"port": 8443}]}
    wider = policy(Role.COORDINATOR, networkPolicy={"enabled": True, "egress": [keys]})["egress"]
    assert passes(wider, "to", STRANGER, 8443)


def test_policies_can_be_asked_away_and_then_go() -> None:
    with_them = plan_cluster(CLUSTER, spec(), NOBODY, None, brokers=3, operator_namespace="ops")
    found = [m for m in with_them if m["kind"] == "NetworkPolicy"]
    assert len(found) == 3
    assert superfluous(with_them, "NetworkPolicy", found, CLUSTER.uid) == []
    somebody_elses = {"metadata": {"name": "hand-made"}}
    without = plan_cluster(
        CLUSTER, spec(networkPolicy={"enabled": False}), NOBODY, None, brokers=3, operator_namespace="ops"
    )
    gone = superfluous(without, "NetworkPolicy", [*found, somebody_elses], CLUSTER.uid)
    assert sorted(gone) == ["demo-broker", "demo-controller", "demo-coordinator"]
