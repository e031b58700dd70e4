"""Where the pods of a secured cluster listen: what the operator tells them is what the servers take."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream_broker.config import BrokerConfig
from millstream_cluster.configs import BROKER_CONFIGS
from millstream_cluster.ids import Role
from millstream_controller.config import ControllerConfig
from millstream_coordinator.config import CoordinatorConfig
from millstream_operator.certificates.authority import Authority
from millstream_operator.plan.certificates import KEYSTORE, TRUST, USERS_TRUST, Lives, next_authority, node_files
from millstream_operator.plan.cluster import plan_cluster
from millstream_operator.plan.workload import Workload
from millstream_operator.resources.external import address_files, listener_fields
from millstream_operator.resources.identity import ClusterIdentity
from millstream_operator.resources.listeners import CERTIFICATES, listeners, node_certificate
from millstream_operator.resources.network_policy import network_policies
from millstream_operator.resources.stateful_set import properties
from millstream_runtime.properties import Properties

CLUSTER = ClusterIdentity("demo", "apps", "uid-1")
NOBODY = {role: Workload() for role in Role}
CONFIGS = {Role.BROKER: BrokerConfig, Role.CONTROLLER: ControllerConfig, Role.COORDINATOR: CoordinatorConfig}
NOW = datetime.now(UTC)


def spec(**more: Any) -> dict[str, Any]:
    return {
        "images": {"broker": "b:1", "controller": "c:1", "coordinator": "o:1"},
        "security": {"enabled": True},
        "brokers": {"replicas": 3, "storage": {"size": "1Gi"}},
        "controllers": {"replicas": 2},
        "coordinators": {"replicas": 2},
        **more,
    }


OUTSIDE = {"externalListener": {"domain": "streams.example.com", "annotations": {"dns": "{host}."}}}


BY_PORTS = {"externalListener": {"domain": "nodes.example.com", "type": "NodePort", "nodePort": 31000}}
BY_GATEWAY = {
    "externalListener": {
        "domain": "streams.example.com",
        "type": "TLSRoute",
        "port": 443,
        "gateway": {"name": "edge", "namespace": "gateways", "sectionName": "tls"},
    }
}


def planned(brokers: int = 3, **more: Any) -> dict[tuple[str, str], dict[str, Any]]:
    plan = plan_cluster(CLUSTER, spec(**more), NOBODY, None, brokers=brokers, operator_namespace="ops")
    return {(each["kind"], each["metadata"]["name"]): each for each in plan}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    ca = Authority.new("demo", NOW, timedelta(days=10))
    wanted = node_certificate(CLUSTER, spec(), Role.BROKER)
    for name, content in node_files({}, wanted, ca, ca, Lives.of(spec()), NOW).items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def told(role: Role, directory: Path, **more: Any) -> Properties:
    """As the kubelet hands it to the process."""
    values = properties(CLUSTER, spec(**more), role)
    return Properties(
        {
            key: value.replace("$(POD_NAME)", f"demo-{role.value}-1")
            .replace("$(NODE_ID)", "1")
            .replace(CERTIFICATES, str(directory))
            for key, value in values.items()
            if key != "process.roles" and not key.startswith("http.")
        }
    )


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("more", [{}, OUTSIDE])
def test_the_servers_take_what_they_are_told(role: Role, more: dict[str, Any], directory: Path) -> None:
    properties = told(role, directory, **more)
    config = CONFIGS[role].from_properties(properties)
    properties.refuse_unknown(BROKER_CONFIGS)
    assert config.security.controllers.tls is not None
    assert not any(config.security.guard(each.name).security.is_plain for each in listeners(spec(**more), role))


def test_nodes_have_a_door_of_their_own_and_users_come_in_by_scram_or_a_certificate(directory: Path) -> None:
    for role in (Role.BROKER, Role.COORDINATOR):
        values = told(role, directory, **OUTSIDE).as_dict()
        protocols = dict(each.split(":") for each in values["listener.security.protocol.map"].split(","))
        assert protocols == {
            "CLIENTS": "SASL_SSL",
            "INTERNAL": "SSL",
            "MTLS": "SSL",
            "EXTERNAL": "SASL_SSL",
            "CONTROLLER": "SSL",
        }
        assert values["inter.broker.listener.name"] == "INTERNAL"
        assert values["listener.name.internal.ssl.client.auth"] == "required"
        assert values["ssl.truststore.location"].endswith("/" + TRUST)
        assert values["listener.name.mtls.ssl.client.auth"] == "required"
        assert values["listener.name.mtls.ssl.truststore.location"].endswith("/" + USERS_TRUST)
        outside = f"EXTERNAL://demo-{role.value}-1.streams.example.com:9097"
        assert outside in values["advertised.listeners"].split(",")
    assert told(Role.CONTROLLER, directory).as_dict()["listener.name.controller.ssl.client.auth"] == "required"


def test_the_nodes_the_operator_and_whom_the_cluster_names_are_super_users(directory: Path) -> None:
    security = {"enabled": True, "superUsers": ["admin"]}
    super_users = told(Role.BROKER, directory, security=security).as_dict()["super.users"].split(";")
    assert sorted(super_users) == [
        "User:CN=demo-broker,OU=nodes",
        "User:CN=demo-controller,OU=nodes",
        "User:CN=demo-coordinator,OU=nodes",
        "User:CN=demo-operator,OU=nodes",
        "User:admin",
    ]


def test_a_plain_cluster_is_told_nothing_of_it(directory: Path) -> None:
    values = told(Role.BROKER, directory, security={"enabled": False}, **OUTSIDE).as_dict()
    assert values["listeners"] == "PLAINTEXT://0.0.0.0:9092"
    assert not [key for key in values if key.startswith(("ssl.", "sasl.", "listener.", "super."))]


def test_the_certificate_names_every_way_to_the_pods() -> None:
    names = node_certificate(CLUSTER, spec(**OUTSIDE), Role.BROKER).names
    for name in ("*.demo-broker.apps.svc", "demo-bootstrap", "demo-bootstrap.apps.svc", "*.streams.example.com"):
        assert name in names
    assert {"localhost", "127.0.0.1"} < set(names)
    assert "demo-bootstrap" not in node_certificate(CLUSTER, spec(), Role.COORDINATOR).names


def test_the_nodes_door_is_closed_to_other_pods() -> None:
    found = network_policies(CLUSTER, spec(**OUTSIDE), "ops")
    ingress = {each["metadata"]["name"]: each["spec"]["ingress"] for each in found}
    for name in ("demo-broker", "demo-coordinator"):
        anybody = [port["port"] for rule in ingress[name] if "from" not in rule for port in rule["ports"]]
        inside = [port["port"] for rule in ingress[name] if "from" in rule for port in rule["ports"]]
        assert 9096 not in anybody
        assert inside == [9096]
        assert {9097, 9098} < set(anybody)


def test_pods_mount_their_certificates_and_the_services_know_every_port() -> None:
    plan = plan_cluster(CLUSTER, spec(**OUTSIDE), NOBODY, None, brokers=3, operator_namespace="ops")
    sets = {m["metadata"]["name"]: m for m in plan if m["kind"] == "StatefulSet"}
    for name, found in sets.items():
        pod = found["spec"]["template"]["spec"]
        assert pod["volumes"] == [
            {"name": "certificates", "secret": {"secretName": f"{name}-certificates", "defaultMode": 0o440}}
        ]
        mounts = {mount["mountPath"]: mount for mount in pod["containers"][0]["volumeMounts"]}
        assert mounts[CERTIFICATES]["readOnly"] is True
    services = {m["metadata"]["name"]: m for m in plan if m["kind"] == "Service"}
    for service in services.values():
        role = service["metadata"]["labels"]["millstream.dev/role"]
        ports = {port["name"] for port in sets[f"demo-{role}"]["spec"]["template"]["spec"]["containers"][0]["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    outside = [name for name in services if name.endswith("-external")]
    assert len(outside) == 1 + 3 + 2
    first = services["demo-broker-0-external"]["metadata"]["annotations"]
    assert first == {
        "millstream.dev/host": "demo-broker-0.streams.example.com",
        "dns": "demo-broker-0.streams.example.com.",
    }


def test_authorities_are_succeeded_in_time_or_when_asked_or_when_somebody_brings_another() -> None:
    lives = Lives(timedelta(days=300), timedelta(days=90), timedelta(days=30))

    def following(kept: Authority, **how: Any) -> Authority:
        asked = {"brought": None, "is_asked_to_rotate": False, "now": NOW} | how
        return next_authority("demo", kept, lives=lives, **asked)

    first = Authority.new("demo", NOW, lives.authority)
    assert following(first).certificate == first.certificate
    assert following(first, now=NOW + timedelta(days=150)).certificate == first.certificate
    for later in (
        following(first, is_asked_to_rotate=True),
        following(first, now=NOW + timedelta(days=201)),
        following(first, brought=Authority.new("theirs", NOW, lives.authority)),
    ):
        assert later.certificate != first.certificate
        assert later.older == (first.certificate,)
        assert len(later.bridges) == 1
    theirs = Authority.new("theirs", NOW, lives.authority)
    assert following(theirs, brought=theirs, now=NOW + timedelta(days=299)).certificate == theirs.certificate


def test_nodes_files_stay_until_something_is_due() -> None:
    ca, lives = Authority.new("demo", NOW, timedelta(days=300)), Lives.of(spec())
    wanted = node_certificate(CLUSTER, spec(), Role.BROKER)
    first = node_files({}, wanted, ca, ca, lives, NOW)
    assert node_files(first, wanted, ca, ca, lives, NOW + timedelta(days=59)) == first
    assert node_files(first, wanted, ca, ca, lives, NOW + timedelta(days=61))[KEYSTORE] != first[KEYSTORE]
    assert node_files({**first, KEYSTORE: b"broken"}, wanted, ca, ca, lives, NOW)[KEYSTORE] != first[KEYSTORE]
    rotated = ca.succeeded_by(Authority.new("demo", NOW, timedelta(days=300)), NOW)
    users_changed = node_files(first, wanted, ca, rotated, lives, NOW)
    assert (users_changed[KEYSTORE], users_changed[TRUST]) == (first[KEYSTORE], first[TRUST])
    assert users_changed[USERS_TRUST] == rotated.trust


@pytest.mark.parametrize("role", [Role.BROKER, Role.COORDINATOR])
def test_a_plain_clusters_listeners_are_called_what_they_speak(role: Role) -> None:
    """A listener of another name has to be in listener.security.protocol.map: coordinators of plain clusters did not start."""
    [listener] = listeners({"security": {"enabled": False}}, role)
    assert listener.name == listener.protocol


def test_pods_that_are_told_apart_by_ports_each_know_their_own(directory: Path) -> None:
    plan = planned(**BY_PORTS)
    ports = {
        name: found["spec"]["ports"][0]["nodePort"]
        for (kind, name), found in plan.items()
        if kind == "Service" and name.endswith("-external")
    }
    assert ports == {
        "demo-bootstrap-external": 31000,
        "demo-broker-0-external": 31001,
        "demo-coordinator-0-external": 31002,
        "demo-broker-1-external": 31003,
        "demo-coordinator-1-external": 31004,
        "demo-broker-2-external": 31005,
    }
    for role in (Role.BROKER, Role.COORDINATOR):
        name = f"demo-{role.value}"
        [container] = plan["StatefulSet", name]["spec"]["template"]["spec"]["containers"]
        path = container["args"][container["args"].index("--config") + 1]
        assert path == f"{CERTIFICATES}/$(POD_NAME).properties"
        files = address_files(CLUSTER, spec(**BY_PORTS), role, ())
        (directory / "addresses").write_bytes(files[f"{name}-1.properties"])
        told_so = Properties.read(directory / "addresses", []).as_dict() | told(role, directory, **BY_PORTS).as_dict()
        properties = Properties(told_so)
        CONFIGS[role].from_properties(properties)
        properties.refuse_unknown(BROKER_CONFIGS)
        outside = f"EXTERNAL://nodes.example.com:{ports[f'{name}-1-external']}"
        assert told_so["advertised.listeners"].split(",")[-1] == outside
        assert f"CLIENTS://{name}-1.{name}.apps.svc" in told_so["advertised.listeners"]
    assert "nodes.example.com" in node_certificate(CLUSTER, spec(**BY_PORTS), Role.BROKER).names
    assert address_files(CLUSTER, spec(**BY_PORTS), Role.CONTROLLER, ()) == {}
    assert address_files(CLUSTER, spec(**OUTSIDE), Role.BROKER, ()) == {}


def test_more_pods_change_nothing_about_those_that_are_there() -> None:
    few, many = planned(3, **BY_PORTS), planned(4, **BY_PORTS)
    for name in ("demo-broker", "demo-coordinator"):
        before, after = (each["StatefulSet", name]["spec"]["template"] for each in (few, many))
        assert before == after, "nobody has to restart"
    services = {key: each for key, each in few.items() if key[0] == "Service"}
    assert services == {key: many[key] for key in services}


def test_a_pod_on_its_way_out_keeps_its_address() -> None:
    four = {**BY_PORTS, "brokers": {"replicas": 4, "storage": {"size": "1Gi"}}}
    before = address_files(CLUSTER, spec(**four), Role.BROKER, ())
    assert len(before) == 4
    assert address_files(CLUSTER, spec(**BY_PORTS), Role.BROKER, {**before, KEYSTORE: b""}) == before


def test_a_gateway_tells_the_pods_apart_by_name_and_ends_no_encryption() -> None:
    plan = planned(**BY_GATEWAY)
    routes = {name: each["spec"] for (kind, name), each in plan.items() if kind == "TLSRoute"}
    assert len(routes) == 1 + 3 + 2
    assert routes["demo-coordinator-1-external"] == {
        "parentRefs": [{"name": "edge", "namespace": "gateways", "sectionName": "tls"}],
        "hostnames": ["demo-coordinator-1.streams.example.com"],
        "rules": [{"backendRefs": [{"name": "demo-coordinator-1-external", "port": 9097}]}],
    }
    for name in routes:
        service = plan["Service", name]["spec"]
        assert (service["type"], service["ports"][0]["port"]) == ("ClusterIP", 9097)
    advertised = properties(CLUSTER, spec(**BY_GATEWAY), Role.BROKER)["advertised.listeners"]
    assert advertised.endswith("EXTERNAL://$(POD_NAME).streams.example.com:443")


def test_the_status_has_every_address() -> None:
    replicas = {Role.BROKER: 1, Role.CONTROLLER: 2, Role.COORDINATOR: 1}
    clients, mtls, outside = listener_fields(
        CLUSTER, spec(**OUTSIDE), replicas, {"demo-broker-0-external": "192.0.2.7", "other": "192.0.2.8"}
    )
    assert clients == {"name": "clients", "protocol": "SASL_SSL", "bootstrap": "demo-bootstrap.apps.svc:9092"}
    assert mtls == {"name": "mtls", "protocol": "SSL", "bootstrap": "demo-bootstrap.apps.svc:9098"}
    assert outside == {
        "name": "external",
        "protocol": "SASL_SSL",
        "bootstrap": "streams.example.com:9097",
        "addresses": [
            {"pod": "any broker", "address": "streams.example.com:9097"},
            {"pod": "demo-broker-0", "address": "demo-broker-0.streams.example.com:9097", "target": "192.0.2.7"},
            {"pod": "demo-coordinator-0", "address": "demo-coordinator-0.streams.example.com:9097"},
        ],
    }
    plain = listener_fields(CLUSTER, spec(security={"enabled": False}, **OUTSIDE), replicas, {})
    assert [each["bootstrap"] for each in plain] == ["demo-bootstrap.apps.svc:9092"]
