"""What nobody may do: who is refused by the chart as it comes, and how far the operator's hand reaches.

The tests of this module are the steps of one scenario, in order; each finds what those before it left.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kubectl import CommandFailed, make_namespace
from product import BOOTSTRAP, CHART, RELEASE, Client, client_pod, consumer_group, install, topic, uninstall, user

BEYOND = ("kube-system", "default")
MIGHTY = (
    "create statefulsets.apps",
    "create rolebindings.rbac.authorization.k8s.io",
    "get secrets",
    "list topics.millstream.dev",
)


@pytest.fixture(scope="module")
def tenant(cluster: Any) -> Iterator[Any]:
    """Another team's namespace, which the operator looks after as well."""
    name = f"{cluster.namespace}-tenant"
    make_namespace(cluster, name)
    yield type(cluster)(name)
    cluster.run("kubectl", "delete", "namespace", name, "--ignore-not-found", timeout_s=120)


@pytest.fixture(scope="module", autouse=True)
def installed(cluster: Any, tenant: Any, steps: Any) -> Iterator[None]:
    install(
        cluster,
        broker__replicas="1",
        controller__replicas="1",
        coordinator__replicas="1",
        operator__namespaces=f"{{{tenant.namespace}}}",
        **{"cluster.config.num\\.partitions": "4"},
    )
    cluster.wait_for_condition("cluster", RELEASE, "Ready", "True", timeout_s=180)
    steps.done("helm install into namespaces that enforce the restricted level: the Cluster is Ready")
    yield
    uninstall(cluster)


@pytest.fixture(scope="module")
def looker(cluster: Any, pod: Callable[..., Any], steps: Any) -> Client:
    """A client that sees every topic and may do nothing else."""
    cluster.apply(user("looker", [("Topic", "*", ["Describe"])]))
    cluster.wait_for_condition("user", "looker", "Ready", "True", timeout_s=60)
    found = client_pod(cluster, pod, "looker", secret="looker")
    steps.done("a User and a pod with its Secret")
    return found


@pytest.fixture(scope="module")
def shop(cluster: Any, pod: Callable[..., Any]) -> Client:
    """A team's client: its own topics and groups, by SCRAM."""
    cluster.apply(topic("shop-orders", partitions=3), topic("payments", partitions=1))
    acls = [
        ("Topic", "shop-*", ["Read", "Write", "Describe"]),
        ("Group", "shop-*", ["Read", "Describe"]),
        ("Topic", "payments", ["Describe"]),
    ]
    cluster.apply(user("shop", acls, quotas={"producerByteRate": 50_000_000}))
    for kind, name in (("user", "shop"), ("topic", "shop-orders"), ("topic", "payments")):
        cluster.wait_for_condition(kind, name, "Ready", "True", timeout_s=60)
    return client_pod(cluster, pod, "shop", secret="shop")


def foreign(name: str, cluster: Any, manifest: dict[str, Any]) -> dict[str, Any]:
    """The resource as another namespace writes it."""
    manifest["metadata"]["name"] = name
    manifest["spec"]["clusterRef"] = {"name": RELEASE, "namespace": cluster.namespace}
    return manifest


def reason_of(cluster: Any, kind: str, name: str, status: str) -> tuple[str, str]:
    found = cluster.wait_for_condition(kind, name, "Ready", status, timeout_s=60)
    ready = next(each for each in found["status"]["conditions"] if each["type"] == "Ready")
    return ready["reason"], ready["message"]


def test_the_schema_names_a_wrong_value(cluster: Any) -> None:
    for setting, word in (("broker.replicas=three", "/broker/replicas"), ("broker.replcas=3", "replcas")):
        with pytest.raises(CommandFailed, match=word):
            cluster.run("helm", "template", "x", CHART, "--kube-version", "1.33.0", "--set", setting)


def test_a_number_among_the_settings_reaches_the_servers_as_text(cluster: Any) -> None:
    assert cluster.get("cluster", RELEASE)["spec"]["config"] == {"num.partitions": "4"}


def test_the_operators_rights_end_at_its_namespaces(cluster: Any, tenant: Any, steps: Any) -> None:
    operator = f"system:serviceaccount:{cluster.namespace}:{RELEASE}-operator"

    def may(what: str, namespace: str) -> bool:
        words = ["kubectl", "auth", "can-i", *what.split(), "-n", namespace, "--as", operator]
        return cluster.run(*words, check=False).split()[-1] == "yes"

    for namespace in BEYOND:
        assert [what for what in MIGHTY if may(what, namespace)] == [], namespace
    assert may("create statefulsets.apps", cluster.namespace)
    assert may("list topics.millstream.dev", tenant.namespace)
    assert not may("list secrets", cluster.namespace), "what it does not know by name it does not see"
    assert not may("list nodes", cluster.namespace)
    steps.done("kubectl auth can-i says no to the operator beyond its namespaces")


def test_whoever_shows_no_credentials_or_wrong_ones_is_refused(
    cluster: Any, pod: Callable[..., Any], looker: Client, steps: Any
) -> None:
    assert f"{RELEASE}-broker-0" in looker.kcat("-L")
    stranger = client_pod(cluster, pod, "stranger")
    cluster.execute("stranger", "sh", "-c", "cat > /tmp/ca.crt", stdin=text_of(cluster, "looker", "ca.crt"))
    tls = ["-X", "ssl.ca.location=/tmp/ca.crt"]
    wrong = ["-X", "sasl.mechanism=SCRAM-SHA-512", "-X", "sasl.username=looker", "-X", "sasl.password=wrong"]
    tries = {
        "plaintext": ("9092", []),
        "TLS without a login": ("9092", ["-X", "security.protocol=ssl", *tls]),
        "a wrong password": ("9092", ["-X", "security.protocol=sasl_ssl", *tls, *wrong]),
        "no certificate at the users' door": ("9098", ["-X", "security.protocol=ssl", *tls]),
        "no certificate at the nodes' door": ("9096", ["-X", "security.protocol=ssl", *tls]),
    }
    for what, (port, words) in tries.items():
        with pytest.raises(CommandFailed):
            stranger.kcat("-b", f"{RELEASE}-bootstrap:{port}", *words, "-m", "6", "-L")
        steps.done(f"refused: {what}")


def text_of(cluster: Any, secret: str, name: str) -> str:
    return base64.b64decode(cluster.get("secret", secret)["data"][name]).decode()


def test_a_user_works_on_its_topic_and_on_no_other(cluster: Any, shop: Client, steps: Any) -> None:
    produced = shop.run("produce", BOOTSTRAP, "shop-orders", "0", "200")
    assert len(produced) == 200
    assert sorted(shop.run("consume", BOOTSTRAP, "shop-readers", "shop-orders", "-")) == sorted(produced)
    assert sorted(shop.run("read_all", BOOTSTRAP, "shop-orders")) == sorted(produced)
    steps.done("a User's Secret: produced, consumed in a group and read back with two clients")
    with pytest.raises(CommandFailed, match=r"(?i)authorization"):
        shop.run("produce", BOOTSTRAP, "payments", "0", "1")
    assert shop.run("fetch_one", BOOTSTRAP, "shop-readers", "payments") == [("TOPIC_AUTHORIZATION_FAILED",)]
    assert shop.run("consume", BOOTSTRAP, "other-readers", "shop-orders", "-") == []
    steps.done("no other topic, and no other group")


def test_a_user_with_a_certificate_works_at_its_door(
    cluster: Any, pod: Callable[..., Any], shop: Client, steps: Any
) -> None:
    acls = [("Topic", "shop-orders", ["Write", "Describe"])]
    cluster.apply(user("certified", acls, authentication={"type": "Tls"}))
    cluster.wait_for_condition("user", "certified", "Ready", "True", timeout_s=60)
    certified = client_pod(cluster, pod, "certified", secret="certified")
    door = f"{RELEASE}-bootstrap:9098"
    assert len(certified.run("produce", door, "shop-orders", "200", "50")) == 50
    with pytest.raises(CommandFailed):
        certified.run("produce", door, "payments", "0", "1")
    with pytest.raises(CommandFailed):
        certified.kcat("-b", f"{RELEASE}-bootstrap:9096", "-m", "6", "-L")
    steps.done("a certificate of the users' authority: its topic, no other, and not the nodes' door")


def test_certificates_are_exchanged_under_load(cluster: Any, pod: Callable[..., Any], shop: Client, steps: Any) -> None:
    load = shop.start("load", BOOTSTRAP, "shop-orders", "/tmp/stop-load")
    before = text_of(cluster, "shop", "ca.crt")
    pods = [each["metadata"]["name"] for each in cluster.list("pods", "millstream.dev/role")]
    restarts = {name: cluster.get("pod", name)["metadata"]["uid"] for name in pods}
    cluster.kubectl("annotate", "cluster", RELEASE, "millstream.dev/rotate=first")

    def has_another_authority() -> bool:
        return text_of(cluster, "shop", "ca.crt").count("BEGIN") == 2

    cluster.wait_until("the user's Secret has two authorities", has_another_authority, 60)
    for name in pods:
        # The kubelet looks at mounted Secrets about once a minute; a change of the pod makes it look now.
        cluster.kubectl("annotate", "pod", name, "rotated=yes")
    # Certificates of one kind differ in length by some bytes: their signatures do.
    newest, end, older = text_of(cluster, "shop", "ca.crt").partition("-----END CERTIFICATE-----\n")
    newest += end
    assert newest != before == older
    steps.done("another authority is made")
    wait_for_issuer(cluster, shop, newest)
    steps.done("a node shows a certificate of the new authority, to who trusts only that one")
    cluster.execute("shop", "sh", "-c", "cat > /tmp/old.crt", stdin=before)
    assert handshake(cluster, shop, "/tmp/old.crt") == "trusted"
    steps.done("and who trusts only the old one believes it too")
    latecomer = client_pod(cluster, pod, "latecomer", secret="shop")
    assert len(latecomer.run("produce", BOOTSTRAP, "shop-orders", "1000", "50")) == 50
    assert reason_of(cluster, "topic", "payments", "True")[0] == "AsDeclared"
    cluster.execute("shop", "touch", "/tmp/stop-load")
    acknowledged = shop.finish(load, timeout_s=60)
    stored = shop.run("read_all", BOOTSTRAP, "shop-orders")
    assert set(acknowledged) <= set(stored)
    assert {name: cluster.get("pod", name)["metadata"]["uid"] for name in pods} == restarts
    steps.done(f"{len(acknowledged)} records acknowledged meanwhile, without an error and without a restart")


HANDSHAKE = """
import socket, ssl, sys
context = ssl.create_default_context(cafile=sys.argv[1])
raw = socket.create_connection((sys.argv[2], 9092), 5)
try:
    context.wrap_socket(raw, server_hostname=sys.argv[2])
    print("trusted")
except ssl.SSLCertVerificationError as error:
    print("refused", error)
"""


def handshake(cluster: Any, client: Client, trust: str) -> str:
    words = ("python", "-c", HANDSHAKE, trust, f"{RELEASE}-bootstrap")
    return str(cluster.execute(client.pod, *words)).split()[0]


def wait_for_issuer(cluster: Any, client: Client, authority: str) -> None:
    cluster.execute(client.pod, "sh", "-c", "cat > /tmp/new.crt", stdin=authority)
    cluster.wait_until(
        "a node shows the new authority's certificate",
        lambda: handshake(cluster, client, "/tmp/new.crt") == "trusted",
        120,
    )


def test_no_password_is_seen_anywhere_but_in_secrets(cluster: Any, shop: Client, steps: Any) -> None:
    secret = [text_of(cluster, name, "password") for name in ("looker", "shop")]
    keys = [text_of(cluster, f"{RELEASE}-ca", "ca.key"), text_of(cluster, "certified", "user.key")]
    hidden = [*secret, *(key.splitlines()[1] for key in keys)]
    kinds = "all,clusters,topics,consumergroups,users,metadataslots,remains,configmaps,events,roles,rolebindings"
    seen = {"objects": cluster.kubectl("get", f"{kinds},networkpolicies,serviceaccounts,pvc", "-o", "yaml")}
    for each in cluster.list("pods"):
        name = each["metadata"]["name"]
        seen[f"log of {name}"] = cluster.kubectl("logs", name, "--all-containers")
    for each in cluster.list("pods", "app.kubernetes.io/part-of=millstream"):
        address = each["status"]["podIP"]
        code = (
            f"import urllib.request as u; print(u.urlopen('http://{address}:9095/metrics', timeout=5).read().decode())"
        )
        seen[f"metrics of {address}"] = cluster.execute(shop.pod, "python", "-c", code)
    assert [what for what, text in seen.items() for each in hidden if each in text] == []
    assert len(seen) > 6
    steps.done(f"no password and no key in {len(seen)} places: objects, logs, metrics")


def test_a_user_takes_away_what_it_made_and_nothing_else(cluster: Any, shop: Client, steps: Any) -> None:
    cluster.kubectl("delete", "user", "shop", timeout_s=60)
    assert cluster.get("user", "shop") is None

    def left() -> list[str]:
        return [each["spec"]["resource"]["metadata"]["name"] for each in cluster.list("remains")]

    cluster.wait_until("what it made is taken away", lambda: "shop" not in left(), 60)
    with pytest.raises(CommandFailed):
        shop.run("produce", BOOTSTRAP, "shop-orders", "0", "1", timeout_s=90)
    cluster.wait_until("the Secret is gone", lambda: cluster.get("secret", "shop") is None, 60)
    assert reason_of(cluster, "user", "looker", "True")[0] == "AsDeclared"
    steps.done("a User that is deleted: its Secret is gone and its password no longer good; others stay")


def test_another_namespace_does_not_reach_the_cluster_unless_it_is_named(
    cluster: Any, tenant: Any, looker: Client, steps: Any
) -> None:
    cluster.apply(topic("orders", partitions=2, deletionPolicy="Delete"))
    cluster.wait_for_condition("topic", "orders", "Ready", "True", timeout_s=60)
    tenant.apply(
        foreign("orders", cluster, topic("orders", partitions=9, deletionPolicy="Delete")),
        foreign("theirs", cluster, topic("theirs", deletionPolicy="Delete")),
        foreign("readers", cluster, consumer_group("readers", deletionPolicy="DeleteIfEmpty")),
    )
    for kind, name in (("topic", "orders"), ("topic", "theirs"), ("consumergroup", "readers")):
        assert reason_of(tenant, kind, name, "False")[0] == "NamespaceNotAllowed"
    tenant.kubectl("delete", "topic", "orders", timeout_s=60)
    listed = {each["topic"]: len(each["partitions"]) for each in json.loads(looker.kcat("-L", "-J"))["topics"]}
    assert {name: count for name, count in listed.items() if name in ("orders", "theirs")} == {"orders": 2}
    steps.done("resources of another namespace get a refusal; nothing is made, changed or deleted")
    patch = json.dumps({"spec": {"allowedNamespaces": [tenant.namespace]}})
    cluster.kubectl("patch", "cluster", RELEASE, "--type=merge", "-p", patch)
    tenant.wait_for_condition("topic", "theirs", "Ready", "True", timeout_s=60)
    steps.done("once the Cluster names the namespace, its Topic is made")


def test_the_younger_of_two_resources_for_one_thing_says_conflict(cluster: Any, tenant: Any, steps: Any) -> None:
    cluster.apply(consumer_group("first", groupId="shared"))
    cluster.wait_for_condition("consumergroup", "first", "Ready", "True", timeout_s=60)
    made = datetime.fromisoformat(cluster.get("consumergroup", "first")["metadata"]["creationTimestamp"])
    # Kubernetes counts ages in whole seconds: of two of one second either may be taken for the elder.
    cluster.wait_until("the next one is younger", lambda: datetime.now(UTC) - made > timedelta(seconds=2), 60)
    tenant.apply(foreign("second", cluster, consumer_group("second", groupId="shared", deletionPolicy="DeleteIfEmpty")))
    tenant.apply(foreign("orders", cluster, topic("orders", partitions=9, deletionPolicy="Delete")))
    for kind, name, elder in (("consumergroup", "second", "first"), ("topic", "orders", "orders")):
        reason, message = reason_of(tenant, kind, name, "False")
        assert reason == "Conflict"
        assert f"{cluster.namespace}/{elder} " in message
    steps.done("two resources for one group or one topic: the younger names the elder")


def test_a_namespace_with_topics_to_delete_goes_in_time(cluster: Any, tenant: Any, looker: Client, steps: Any) -> None:
    cluster.run("kubectl", "delete", "namespace", tenant.namespace, timeout_s=60)
    found = cluster.get("topic", "orders")
    assert found["status"]["partitions"]["total"] == 2
    cluster.wait_until("the topic of the other namespace is gone", lambda: "theirs" not in looker.kcat("-L"), 60)
    steps.done("the other namespace is gone, and its topic with it")
