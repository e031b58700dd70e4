"""Ways in from outside: by ports of the nodes with a real client, and what a gateway is told."""

from __future__ import annotations

from typing import Any

from gateway import define_routes
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kubelet import NODES, RELEASE
from product import topic
from scene import Scene

PODS = {f"{RELEASE}-broker-{n}": 32001 + 2 * n for n in range(3)}
PODS |= {f"{RELEASE}-coordinator-{n}": 32002 + 2 * n for n in range(2)}


def outside(scene: Scene) -> dict[str, Any]:
    [found] = [each for each in scene.resource["status"]["listeners"] if each["name"] == "external"]
    return dict(found)


def test_a_client_from_outside_reaches_every_pod_at_its_port(scene: Scene) -> None:
    told = outside(scene)
    assert told["bootstrap"] == f"{NODES}:32000"
    addresses = {each["pod"]: each["address"] for each in told["addresses"]}
    assert addresses == {"any broker": f"{NODES}:32000"} | {pod: f"{NODES}:{port}" for pod, port in PODS.items()}
    scene.cluster.apply(topic("outside", partitions=6, replicationFactor=1))
    scene.cluster.wait_for_condition("topic", "outside", "Ready", "True", timeout_s=60)
    clients = scene.clients | {"bootstrap_servers": told["bootstrap"]}
    with scene.nodes.node_ports():
        admin = KafkaAdminClient(**clients)
        brokers = {f"{each['host']}:{each['port']}" for each in admin.describe_cluster()["brokers"]}
        admin.close()
        assert {addresses[pod] for pod in PODS if "broker" in pod} <= brokers <= set(addresses.values())
        producer = KafkaProducer(**clients, acks="all")
        for number in range(60):
            producer.send("outside", str(number).encode(), partition=number % 6).get(timeout=60)
        producer.close()
        # A group's coordinator is one of the others, and found at its own port.
        consumer = KafkaConsumer("outside", **clients, group_id="outside", auto_offset_reset="earliest")
        read: set[int] = set()

        def reads() -> bool:
            for records in consumer.poll(timeout_ms=500).values():
                read.update(int(each.value) for each in records)
            return len(read) == 60

        scene.wait_until("everything is read", reads, timeout_s=60)
        consumer.close()


def test_a_gateway_has_a_route_for_each_pod_while_one_is_asked_for(scene: Scene) -> None:
    define_routes(scene.cluster)
    gateway = {"name": "edge", "namespace": "gateways", "sectionName": "tls"}
    before = scene.resource["spec"]["externalListener"]
    asked = {"type": "TLSRoute", "domain": "streams.example.com", "port": 443, "gateway": gateway}
    scene.change({"externalListener": asked})
    names = {f"{pod}-external": f"{pod}.streams.example.com" for pod in PODS}
    names[f"{RELEASE}-bootstrap-external"] = "streams.example.com"

    def routes() -> dict[str, dict[str, Any]]:
        return {each["metadata"]["name"]: each["spec"] for each in scene.cluster.list("tlsroutes")}

    scene.wait_until("every pod has a route", lambda: routes().keys() == names.keys(), timeout_s=60)
    for name, host in names.items():
        assert routes()[name]["hostnames"] == [host]
        assert routes()[name]["parentRefs"] == [gateway]
        service = scene.cluster.get("service", name)
        assert service is not None
        assert service["spec"]["type"] == "ClusterIP"
    scene.wait_until(
        "the status says it", lambda: outside(scene)["bootstrap"] == "streams.example.com:443", timeout_s=60
    )
    scene.wait_until_ready(timeout_s=240)
    scene.change({"externalListener": {**before, "port": None, "gateway": None}})
    scene.wait_until("the routes are gone", lambda: not routes(), timeout_s=60)
    scene.wait_until("the status says it", lambda: outside(scene)["bootstrap"] == f"{NODES}:32000", timeout_s=60)
    scene.wait_until_ready(timeout_s=240)
