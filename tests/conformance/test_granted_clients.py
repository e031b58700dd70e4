"""Unmodified clients that have logged in and may do exactly what Kafka's documentation says they need, and nothing else."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ask import ask
from authorization_scene import made
from authorization_users import ANY_ACL
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from sasl_scene import USERS, Place, our_place
from servers import eventually

from millstream_cluster.acls import AclOperation, AclPattern, AclPermission, AclResource
from millstream_wire import messages as m

T, G, X = AclResource.TOPIC, AclResource.GROUP, AclResource.TRANSACTIONAL_ID
READ, WRITE = AclOperation.READ, AclOperation.WRITE
WRITER = [("alice", T, "t-", WRITE)]
READER = [("adam", T, "t-", READ), ("adam", G, "g-", READ)]
IN_TRANSACTIONS = [("alice", X, "x-", WRITE), ("alice", T, "t-", READ), ("alice", G, "g-", READ)]
TIMEOUT_S = 30


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Closed but for who comes in by the plain listener, which only this machine reaches."""
    directory: Path = tmp_path_factory.mktemp("granted")
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    with our_place(directory, authorizer_class_name=authorizer, super_users="User:ANONYMOUS") as running:
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in ("t-a", "t-b", "u-a")]
        ask(running.plain, made(m.CreateTopicsRequest, topics=topics, timeout_ms=10_000), version=5)
        grants = [*WRITER, *READER, *IN_TRANSACTIONS]
        acls = [
            {
                "resource_type": resource,
                "resource_name": name,
                "resource_pattern_type": AclPattern.PREFIXED,
                "principal": f"User:{user}",
                "host": "*",
                "operation": operation,
                "permission_type": AclPermission.ALLOW,
            }
            for user, resource, name, operation in grants
        ]
        (created,) = ask(running.plain, made(m.CreateAclsRequest, creations=acls))
        assert not any(each.error_code for each in created.results)

        def are_known() -> None:
            (found,) = ask(running.plain, made(m.DescribeAclsRequest, **ANY_ACL))
            assert sum(len(each.acls) for each in found.resources) == len(grants)

        eventually(are_known)
        yield running


def login(place: Place, user: str, **more: object) -> dict[str, Any]:
    return {
        "bootstrap.servers": place.sasl,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": USERS[user],
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def send(producer: Producer, topic: str, value: str) -> KafkaError | None:
    told: list[KafkaError | None] = []
    try:
        producer.produce(topic, value, on_delivery=lambda error, _: told.append(error))
    except KafkaException as known:  # from its metadata, already
        told.append(known.args[0])
    assert producer.flush(TIMEOUT_S) == 0
    return told[0]


def read(place: Place, user: str, topic: str, group: str) -> list[str | int]:
    """Values, or the code of the error that the consumer is told."""
    consumer = Consumer(login(place, user, group_id=group, auto_offset_reset="earliest"))
    consumer.subscribe([topic])
    try:
        while True:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, "neither a record nor an error"
            error = message.error()
            if error is None:
                return [(message.value() or b"").decode()]
            if error.code() in REFUSALS:
                return [error.code()]
    finally:
        consumer.close()


REFUSALS = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED)


def test_who_may_write_writes_there_and_nowhere_else(place: Place) -> None:
    producer = Producer(login(place, "alice", enable_idempotence=True))
    assert send(producer, "t-a", "v") is None
    refused = send(producer, "u-a", "v")
    assert refused is not None
    assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_who_may_read_reads_as_a_group_that_is_his(place: Place) -> None:
    assert send(Producer(login(place, "alice")), "t-b", "v") is None
    group = f"g-{uuid.uuid4().hex}"
    assert read(place, "adam", "t-b", group) == ["v"]
    assert read(place, "adam", "t-b", f"other-{group}") == [KafkaError.GROUP_AUTHORIZATION_FAILED]
    assert read(place, "adam", "u-a", group) == [KafkaError.TOPIC_AUTHORIZATION_FAILED]


def test_a_transaction_with_offsets_takes_four_grants(place: Place) -> None:
    name = uuid.uuid4().hex
    producer = Producer(login(place, "alice", transactional_id=f"x-{name}"))
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("t-a", "in a transaction")
    consumer = Consumer(login(place, "alice", group_id=f"g-{name}"))
    offsets = [TopicPartition("t-a", 0, 1)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), TIMEOUT_S)
    producer.commit_transaction(TIMEOUT_S)
    assert [each.offset for each in consumer.committed([TopicPartition("t-a", 0)], timeout=TIMEOUT_S)] == [1]
    consumer.close()
    with pytest.raises(KafkaException) as refused:
        Producer(login(place, "alice", transactional_id=f"other-{name}")).init_transactions(TIMEOUT_S)
    assert refused.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
