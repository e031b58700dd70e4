"""Disks are wiped and lost, and volumes asked to be what they cannot be."""

from __future__ import annotations

from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata
from kubelet import RELEASE
from product import topic
from scene import Scene

BROKER = f"{RELEASE}-broker-2"
GROUPS = 20


def describe(scene: Scene, name: str) -> list[dict[str, Any]]:
    admin = KafkaAdminClient(**scene.clients)
    try:
        [found] = admin.describe_topics([name])
    finally:
        admin.close()
    partitions: list[dict[str, Any]] = found["partitions"]
    return partitions


def produce(scene: Scene, name: str, count: int) -> None:
    producer = KafkaProducer(**scene.clients, acks="all")
    for number in range(count):
        producer.send(name, str(number).encode())
    producer.flush(timeout=60)
    producer.close()


def test_a_volume_that_cannot_change_is_refused_in_words_and_holds_nothing_else_up(scene: Scene) -> None:
    size = scene.resource["spec"]["brokers"]["storage"]["size"]
    scene.change({"brokers": {"storage": {"size": "2Gi"}}, "coordinators": {"replicas": 3}})
    scene.wait_until("the coordinators are three", lambda: scene.resource["status"]["coordinators"] == "3/3", 60)
    scene.wait_until("it is said", lambda: scene.condition("Progressing")["reason"] == "StorageNotChanged", 30)
    assert "cannot grow to 2Gi" in scene.condition("Progressing")["message"]
    scene.change({"brokers": {"storage": {"size": "1Mi"}}})
    scene.wait_until("the words are others", lambda: "smaller" in scene.condition("Progressing")["message"], 30)
    assert scene.condition("Ready")["status"] == "True"
    scene.change({"brokers": {"storage": {"size": size}}, "coordinators": {"replicas": 2}})
    scene.wait_until_ready()


def test_a_wiped_disk_heals_unasked_and_with_no_copy_left_the_cluster_says_so(scene: Scene) -> None:
    scene.cluster.apply(
        topic("kept", partitions=3, replicationFactor=3), topic("single", partitions=6, replicationFactor=1)
    )
    for name in ("kept", "single"):
        scene.cluster.wait_for_condition("topic", name, "Ready", "True", timeout_s=60)
        produce(scene, name, 300)
    lost = [each["partition_index"] for each in describe(scene, "single") if each["leader_id"] == 2]
    assert lost
    scene.nodes.wipe(BROKER)
    healed = "three replicas are in sync"
    scene.wait_until(healed, lambda: all(len(each["isr_nodes"]) == 3 for each in describe(scene, "kept")), timeout_s=60)
    scene.wait_until(
        "the Cluster says what is lost", lambda: scene.condition("Ready")["reason"] == "PartitionsOffline", timeout_s=30
    )
    assert f"{len(lost)} partitions have no leader: single-{lost[0]}" in scene.condition("Ready")["message"]
    assert scene.resource["status"]["partitions"]["offline"] == len(lost)
    assert "PartitionsOffline" in scene.reasons()
    assert f'millstream_cluster_partitions_offline{{cluster="{RELEASE}"' in scene.nodes.metrics_of("operator")
    scene.cluster.kubectl("delete", "topic", "single")
    admin = KafkaAdminClient(**scene.clients)
    admin.delete_topics(["single"])
    admin.close()
    scene.wait_until_ready()


def test_a_claim_is_released_only_when_a_person_gave_it_up_and_others_have_everything(scene: Scene) -> None:
    scene.cluster.apply(topic("alone", partitions=3, replicationFactor=1))
    scene.cluster.wait_for_condition("topic", "alone", "Ready", "True", timeout_s=60)
    before = scene.cluster.get("pvc", f"data-{BROKER}")
    assert before is not None
    uid = before["metadata"]["uid"]
    scene.change({"brokers": {"releaseClaims": [uid]}})
    told = "it is blocked as long as its broker runs"
    scene.wait_until(told, lambda: "runs with it" in given_up(scene), timeout_s=30)
    scene.nodes.lose(scene.nodes.node_of(BROKER))
    scene.cluster.kubectl("delete", "pod", BROKER, "--wait=false")
    told = "it is blocked by what nobody else has"
    scene.wait_until(told, lambda: "not kept by enough others: alone-" in given_up(scene), timeout_s=60)
    assert scene.cluster.get("pvc", f"data-{BROKER}") is not None
    admin = KafkaAdminClient(**scene.clients)
    scene.cluster.kubectl("delete", "topic", "alone")
    admin.delete_topics(["alone"])
    admin.close()
    scene.wait_until("the claim is released", lambda: "ClaimReleased" in scene.reasons(), timeout_s=60)
    scene.cluster.kubectl("delete", "pod", BROKER, "--force", "--grace-period=0", "--wait=false")
    scene.wait_until("there is another claim", lambda: claim_uid(scene) not in ("", uid), timeout_s=60)
    scene.wait_until_ready(timeout_s=90)
    assert all(len(each["isr_nodes"]) == 3 for each in describe(scene, "kept"))
    assert scene.resource["status"]["givenUpClaims"] == []


def given_up(scene: Scene) -> str:
    return "".join(each["blocked"] for each in scene.resource["status"].get("givenUpClaims", ()))


def claim_uid(scene: Scene) -> str:
    found = scene.cluster.get("pvc", f"data-{BROKER}")
    return "" if found is None or found["metadata"].get("deletionTimestamp") else str(found["metadata"]["uid"])


def commit(scene: Scene, group: str, offset: int) -> int:
    """By a client of its own; what it reads back."""
    consumer = KafkaConsumer(**scene.clients, group_id=group, enable_auto_commit=False)
    try:
        partition = TopicPartition("kept", 0)
        consumer.assign([partition])
        consumer.commit({partition: OffsetAndMetadata(offset, "", -1)})
        return int(consumer.committed(partition))
    finally:
        consumer.close()


def test_with_every_copy_lost_the_cluster_says_so_and_after_consent_every_group_works(scene: Scene) -> None:
    scene.cluster.apply(topic("kept", partitions=3, replicationFactor=3))
    scene.cluster.wait_for_condition("topic", "kept", "Ready", "True", timeout_s=60)
    names = [f"group-{number}" for number in range(GROUPS)]
    assert [commit(scene, name, 7) for name in names] == [7] * GROUPS
    total = scene.resource["status"]["partitions"]["total"]
    scene.nodes.wipe(*(f"{RELEASE}-broker-{number}" for number in range(3)))
    said = "the Cluster says that everything is lost"
    lost = scene.wait_until(
        said,
        lambda: (found := scene.resource["status"].get("lost") or {}).get("partitions") == total and found,
        timeout_s=30,
    )
    assert lost["internalPartitions"] >= 50
    condition = scene.condition("Ready")
    assert condition["status"] == "False"
    assert f"of {total} no copy is left" in condition["message"]
    assert "PartitionsOffline" in scene.reasons()
    scene.change({"acceptLoss": "not-what-is-shown"})
    scene.change({"acceptLoss": lost["token"]})
    scene.wait_until("everything has begun anew", lambda: "lost" not in scene.resource["status"], timeout_s=30)
    assert [commit(scene, name, 9) for name in names] == [9] * GROUPS
    scene.wait_until_ready(timeout_s=60)
    assert "PartitionsBegunAnew" in scene.reasons()
    produce(scene, "kept", 10)
