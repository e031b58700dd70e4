"""The whole product from nothing: helm install, a Topic, clients in a group, failures under load, Spark's archive, uninstall.

The tests of this module are the steps of one scenario, in order; each finds what those before it left.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from product import (
    BOOTSTRAP,
    CLIENTS,
    KINDS,
    RELEASE,
    ROOT,
    Client,
    Record,
    client_pod,
    consumer_group,
    install,
    records_of,
    topic,
    uninstall,
    user,
)

RECORDS = 2000
MORE_RECORDS = 500
TOPICS_AT_ONCE = 50
VICTIMS = (("operator", 0), ("controller", 0), ("controller", 1), ("coordinator", 0), ("broker", 0))
"""Both controllers in turn: one of them is the active one."""


@pytest.fixture(scope="module")
def client(cluster: Any, pod: Callable[..., Any], steps: Any) -> Client:
    """Of a user who may use every topic and every group."""
    everything = [("Topic", "*", ["Read", "Write", "Describe"]), ("Group", "*", ["Read", "Describe"])]
    cluster.apply(user("client", everything))
    cluster.wait_for_condition("user", "client", "Ready", "True", timeout_s=60)
    found = client_pod(cluster, pod, secret="client")
    steps.done("a User, and a client pod with its Secret")
    return found


@pytest.fixture(scope="module", autouse=True)
def uninstalled_in_the_end(cluster: Any) -> Iterator[None]:
    yield
    uninstall(cluster)


def test_helm_installs_a_cluster(cluster: Any, steps: Any) -> None:
    install(cluster)
    steps.done("helm install")
    status = cluster.wait_for_condition("cluster", RELEASE, "Ready", "True", timeout_s=180)["status"]
    assert (status["brokers"], status["controllers"], status["coordinators"]) == ("3/3", "2/2", "2/2")
    steps.done("Cluster is Ready: 3 brokers, 2 controllers, 2 coordinators")


def test_a_topic_is_applied_and_placed(cluster: Any, client: Client, steps: Any) -> None:
    cluster.apply(topic("orders", partitions=6, config={"retention.ms": "-1"}, deletionPolicy="Delete"))
    status = cluster.wait_for_condition("topic", "orders", "Ready", "True", timeout_s=60)["status"]
    assert status["partitions"]["online"] == 6
    assert sorted(status["leaders"].values()) == [2, 2, 2]
    steps.done("Topic is Ready: 6 partitions over 3 brokers")
    listed = json.loads(client.kcat("-L", "-J"))
    names = [broker["name"] for broker in listed["brokers"]]
    assert len([name for name in names if "-broker-" in name]) == 3
    assert len([name for name in names if "-coordinator-" in name]) == 2
    orders = next(each for each in listed["topics"] if each["topic"] == "orders")
    assert len(orders["partitions"]) == 6
    steps.done("kcat lists 3 brokers and 2 coordinators")


def test_many_topics_at_once_are_spread_over_the_brokers(cluster: Any, client: Client, steps: Any) -> None:
    names = [f"many-{number:02}" for number in range(TOPICS_AT_ONCE)]
    cluster.apply(*(topic(name, partitions=1, deletionPolicy="Delete") for name in names))
    for name in names:
        cluster.wait_for_condition("topic", name, "Ready", "True", timeout_s=120)
    found = {each["topic"]: each["partitions"] for each in json.loads(client.kcat("-L", "-J"))["topics"]}
    led = Counter(partition["leader"] for name in names for partition in found[name])
    assert len(led) == 3
    assert max(led.values()) - min(led.values()) <= 1, led
    cluster.kubectl("delete", "topics", *names, timeout_s=120)
    steps.done(f"{TOPICS_AT_ONCE} Topics applied at once: their partitions differ by at most one per broker")


def test_clients_produce_and_consume_in_a_group(cluster: Any, client: Client, steps: Any) -> None:
    cluster.apply(consumer_group("readers", topics=["orders"]))
    produced = client.run("produce", BOOTSTRAP, "orders", "0", str(RECORDS))
    assert len(produced) == RECORDS
    steps.done(f"{RECORDS} records produced with confluent-kafka")
    members = [client.start("consume", BOOTSTRAP, "readers", "orders", "-") for _ in range(2)]
    consumed = [client.finish(member, timeout_s=90) for member in members]
    assert sorted(consumed[0] + consumed[1]) == sorted(produced)
    assert {each[0] for each in consumed[0]}.isdisjoint({each[0] for each in consumed[1]})
    steps.done("consumed once by two members of a group")
    assert sorted(client.run("read_all", BOOTSTRAP, "orders")) == sorted(produced)
    steps.done("read back with kafka-python")
    printed = client.kcat("-C", "-t", "orders", "-o", "beginning", "-e", "-q", "-f", "%p %o %k %s\n").splitlines()
    assert len(printed) == RECORDS
    lag_of(cluster, "readers", 0)
    steps.done("read back with kcat; the ConsumerGroup shows no lag")


def lag_of(cluster: Any, group: str, expected: int) -> None:
    def shown() -> bool:
        found = cluster.get("consumergroup", group) or {}
        return bool(found.get("status", {}).get("lag", {}).get("total") == expected)

    cluster.wait_until(f"ConsumerGroup {group} shows a lag of {expected}", shown, timeout_s=60)


def test_bad_topics_say_what_is_wrong(cluster: Any, steps: Any) -> None:
    cluster.apply(topic("too-many-replicas", partitions=1, replicationFactor=9))
    cluster.apply(topic("unknown-config", partitions=1, config={"no.such.config": "1"}))
    cluster.apply(topic("orders", partitions=2, config={"retention.ms": "-1"}, deletionPolicy="Delete"))
    for name, word in (("too-many-replicas", "replica"), ("unknown-config", "no.such.config"), ("orders", "partition")):
        found = cluster.wait_for_condition("topic", name, "Ready", "False", timeout_s=60)
        ready = next(each for each in found["status"]["conditions"] if each["type"] == "Ready")
        assert word in ready["message"].lower(), ready
    cluster.apply(topic("orders", partitions=6, config={"retention.ms": "-1"}, deletionPolicy="Delete"))
    cluster.wait_for_condition("topic", "orders", "Ready", "True", timeout_s=60)
    cluster.kubectl("delete", "topic", "too-many-replicas", "unknown-config", timeout_s=60)
    steps.done("three bad Topics got a condition each, and go away again")


def test_a_pod_of_each_kind_stops_when_asked(cluster: Any, steps: Any) -> None:
    for kind in KINDS:
        name, seconds = stop_one(cluster, kind)
        steps.done(f"{name} asked to stop: exit code 0 after {seconds:.0f} s, and replaced")
        if kind == "broker":
            opened = [line for line in cluster.kubectl("logs", name).splitlines() if "logs opened" in line]
            assert opened[0].endswith("clean=true"), opened


def test_a_pod_of_each_kind_dies_under_load(cluster: Any, client: Client, steps: Any) -> None:
    cluster.apply(topic("load", partitions=6, deletionPolicy="Delete"))
    cluster.wait_for_condition("topic", "load", "Ready", "True", timeout_s=60)
    load = client.start("load", BOOTSTRAP, "load", "/tmp/stop-load")
    members = [client.start("consume", BOOTSTRAP, "load-readers", "load", "/tmp/stop-readers") for _ in range(2)]
    for kind, ordinal in VICTIMS:
        name = kill_one(cluster, kind, ordinal)
        steps.done(f"{name} killed and replaced")
    cluster.execute("client", "touch", "/tmp/stop-load")
    acknowledged = client.finish(load, timeout_s=250)
    steps.done(f"{len(acknowledged)} records acknowledged meanwhile")
    up_to_date = "the group has committed all of it"
    cluster.wait_until(up_to_date, lambda: client.run("lag", BOOTSTRAP, "load-readers", "load") == [(0,)], timeout_s=90)
    cluster.execute("client", "touch", "/tmp/stop-readers")
    consumed = [record for member in members for record in client.finish(member, timeout_s=120)]
    stored = client.run("read_all", BOOTSTRAP, "load")
    assert sorted(stored) == sorted(set(acknowledged)), "stored exactly what was acknowledged, once"
    for key in {record[2] for record in stored}:
        numbers = [int(value) for partition, offset, each, value in sorted(stored) if each == key]
        assert numbers == sorted(numbers), f"{key} is out of order"
    assert set(consumed) == set(stored), "the group saw every record"
    steps.done(f"all stored in order, none twice; the group saw all ({len(consumed) - len(stored)} of them again)")


def stop_one(cluster: Any, kind: str) -> tuple[str, float]:
    """Ask the kind's first pod to stop, as a rollout or a drain does; its name, and how long it took to end well."""
    pods = pods_of(cluster, kind)
    name = str(pods[0]["metadata"]["name"])
    words = ["kubectl", "-n", cluster.namespace, "get", "pod", name, "--watch", "--output-watch-events", "-o", "json"]
    watch = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    started = time.monotonic()
    try:
        cluster.kubectl("delete", "pod", name, "--wait=true", timeout_s=120)
        seconds = time.monotonic() - started
    finally:
        watch.terminate()
        text, _ = watch.communicate(timeout=30)
    ends = [state["terminated"] for state in container_states(text, pods[0]) if "terminated" in state]
    assert ends, f"nothing was seen of the end of {name}\n{cluster.explain()}"
    assert ends[-1]["exitCode"] == 0, f"{ends[-1]}\n{cluster.explain()}"
    wait_for_another(cluster, kind, pods[0], len(pods))
    return name, seconds


def container_states(events: str, pod: dict[str, Any]) -> list[dict[str, Any]]:
    """The states of this pod's container, of a watch that may have ended within an event and may have seen the next pod."""
    decoder, states = json.JSONDecoder(), []
    while events := events.lstrip():
        try:
            event, end = decoder.raw_decode(events)
        except json.JSONDecodeError:
            break
        seen, events = event["object"], events[end:]
        if seen["metadata"]["uid"] == pod["metadata"]["uid"]:
            states += [each["state"] for each in seen["status"].get("containerStatuses", [])]
    return states


def selector_of(kind: str) -> str:
    return f"millstream.dev/role={kind}" if kind != "operator" else "app.kubernetes.io/name=millstream-operator"


def pods_of(cluster: Any, kind: str) -> list[dict[str, Any]]:
    return sorted(cluster.list("pods", selector_of(kind)), key=lambda pod: str(pod["metadata"]["name"]))


def kill_one(cluster: Any, kind: str, ordinal: int) -> str:
    """Delete one pod of the kind without grace, and wait for all of the kind to be ready again."""
    pods = pods_of(cluster, kind)
    name = str(pods[ordinal]["metadata"]["name"])
    cluster.kubectl("delete", "pod", name, "--grace-period=0", "--force", timeout_s=60)
    wait_for_another(cluster, kind, pods[ordinal], len(pods))
    return name


def wait_for_another(cluster: Any, kind: str, gone: dict[str, Any], count: int) -> None:
    def replaced() -> bool:
        ready = cluster.ready_pods(selector_of(kind))
        return len([pod for pod in ready if pod["metadata"]["uid"] != gone["metadata"]["uid"]]) == count

    cluster.wait_until(f"{gone['metadata']['name']} is replaced", replaced, timeout_s=120)


def spark_manifest(cluster: Any, name: str) -> str:
    """The manifest as it ships, with the registry and the addresses of this installation."""
    text = (ROOT / "spark-on-k8s/manifests" / name).read_text()
    return text.replace(f"millstream-spark:{cluster.version}", str(cluster.image("spark")))


def archive(cluster: Any, steps: Any, *, kill: str = "") -> None:
    cluster.kubectl("delete", "job", "archive-orders", "--ignore-not-found", "--wait", timeout_s=60)
    cluster.kubectl("apply", "-f", "-", stdin=spark_manifest(cluster, "archive.yaml"))
    if kill:
        selector = f"spark-role={kill}"
        running = "jsonpath={.items[?(@.status.phase=='Running')].metadata.name}"
        name = cluster.wait_until(
            f"a Spark {kill} runs",
            lambda: cluster.kubectl("get", "pods", "-l", selector, "-o", running).split() or None,
            timeout_s=120,
        )[0]
        cluster.kubectl("delete", "pod", name, "--grace-period=0", "--force", timeout_s=60)
        steps.done(f"{name} killed")

    def complete() -> bool:
        status = (cluster.get("job", "archive-orders") or {}).get("status", {})
        conditions = {each["type"] for each in status.get("conditions", []) if each["status"] == "True"}
        if "Failed" in conditions:
            pytest.fail(f"the archive job failed\n{cluster.explain()}", pytrace=False)
        return "Complete" in conditions

    cluster.wait_until("the archive job is complete", complete, timeout_s=300)


def lake(cluster: Any, pod: Callable[..., Any], name: str) -> list[Record]:
    """What the lake holds, read without Spark."""
    program = (CLIENTS / "read_lake.py").read_text()
    spec = {
        "mounts": [{"name": "lake", "mountPath": "/lake", "readOnly": True}],
        "volumes": [{"name": "lake", "persistentVolumeClaim": {"claimName": "lake"}}],
    }
    cluster.apply(pod(name, cluster.image("client"), ["python", "-c", program, "/lake/orders"], **spec))
    return records_of(cluster.wait_for_end(name))


def test_spark_archives_the_topic(cluster: Any, client: Client, pod: Callable[..., Any], steps: Any) -> None:
    cluster.kubectl("apply", "-f", "-", stdin=spark_manifest(cluster, "consumer-group.yaml"))
    lag_of(cluster, "archive-orders", RECORDS)
    steps.done(f"the archive's ConsumerGroup shows its lag: {RECORDS}")
    archive(cluster, steps)
    stored = client.run("read_all", BOOTSTRAP, "orders")
    assert sorted(lake(cluster, pod, "lake-1")) == sorted(stored)
    lag_of(cluster, "archive-orders", 0)
    steps.done(f"{len(stored)} records archived as Parquet and read back with pyarrow; no lag left")
    client.run("produce", BOOTSTRAP, "orders", str(RECORDS), str(MORE_RECORDS))
    lag_of(cluster, "archive-orders", MORE_RECORDS)
    archive(cluster, steps, kill="driver")
    stored = client.run("read_all", BOOTSTRAP, "orders")
    assert len(stored) == RECORDS + MORE_RECORDS
    assert sorted(lake(cluster, pod, "lake-2")) == sorted(stored)
    lag_of(cluster, "archive-orders", 0)
    steps.done(f"{MORE_RECORDS} more archived across the driver's death: every record once")


def test_uninstall_leaves_nothing_behind(cluster: Any, steps: Any) -> None:
    # Pods first: a claim stays for as long as a pod, even one that has ended, mounts it.
    cluster.kubectl("delete", "pod", "client", "lake-1", "lake-2", "--grace-period=0", "--force")
    cluster.kubectl("delete", "configmap", "clients")
    cluster.kubectl("delete", "job", "archive-orders", "--cascade=foreground", timeout_s=60)
    cluster.kubectl("delete", "-f", "-", "--ignore-not-found", stdin=spark_manifest(cluster, "archive.yaml"))
    cluster.kubectl("delete", "topic", "load")
    cluster.kubectl("delete", "consumergroup,user", "--all")
    steps.done("what was applied is deleted, but for one Topic")
    cluster.helm("uninstall", RELEASE, "--wait", "--timeout", "4m")
    steps.done("helm uninstall")
    cluster.wait_until("only the user's Topic is left", lambda: left(cluster) == ["topic.millstream.dev/orders"], 60)
    steps.done("nothing of the release is left")
    definitions = cluster.run("kubectl", "get", "crd", "-o", "name").split()
    ours = [name for name in definitions if name.endswith(".millstream.dev")]
    cluster.run("kubectl", "delete", *ours, timeout_s=60)
    kept = [name for name in left(cluster) if "millstream" in name]
    assert kept == []
    steps.done("and the CRDs, which helm leaves to the administrator, take the Topic along")


def left(cluster: Any) -> list[str]:
    """What is in the namespace beside what Kubernetes puts into each, and the cluster-wide grants made for it."""
    kinds = (
        "pods,services,statefulsets,deployments,jobs,configmaps,secrets,persistentvolumeclaims,serviceaccounts,roles"
    )
    kinds += ",rolebindings,poddisruptionbudgets,networkpolicies"
    if "clusters.millstream.dev" in cluster.run("kubectl", "get", "crd", "-o", "name"):
        kinds += ",clusters,topics,consumergroups,users,metadataslots,remains"
    names = cluster.kubectl("get", kinds, "-o", "name").split()
    grants = cluster.run("kubectl", "get", "clusterroles,clusterrolebindings", "-o", "name").split()
    names += [name for name in grants if f"/{cluster.namespace}" in name]
    return sorted(set(names) - {"configmap/kube-root-ca.crt", "serviceaccount/default"})
