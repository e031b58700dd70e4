"""What a test does to brokers on purpose, and what a client sees of it."""

import threading
import time

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer

from millstream.testing import Millstream, TestingError

PATIENCE_S = 40
three = pytest.mark.millstream(brokers=3)


def put(cluster: Millstream, value: bytes, topic: str = "orders", **settings: object) -> KafkaError | None:
    """Produce one record with acks=all; the error that the client gives up with, if it does."""
    errors: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        errors.append(error)

    producer = Producer({**cluster.librdkafka(), "enable.idempotence": True, **settings})
    producer.produce(topic, value, partition=0, on_delivery=delivered)
    assert producer.flush(PATIENCE_S) == 0
    return errors[0]


@three
def test_a_killed_leader_is_replaced_and_comes_back(millstream: Millstream) -> None:
    millstream.create_topic("orders")
    assert put(millstream, b"1") is None
    leader = millstream.leader_of("orders")
    leader.kill()
    assert put(millstream, b"2") is None
    assert millstream.leader_of("orders").number != leader.number
    leader.start()
    assert put(millstream, b"3") is None
    assert millstream.values("orders") == [b"1", b"2", b"3"]


@three
def test_a_paused_leader_is_missed_after_two_days_and_wakes_as_a_follower(millstream: Millstream) -> None:
    millstream.create_topic("orders")
    assert put(millstream, b"1") is None
    leader = millstream.leader_of("orders")
    leader.pause()
    millstream.advance(days=2)
    assert millstream.leader_of("orders").number != leader.number
    assert put(millstream, b"2") is None
    leader.resume()
    assert put(millstream, b"3") is None
    assert millstream.values("orders") == [b"1", b"2", b"3"]


def test_a_broker_that_is_cut_off_answers_once_it_is_mended(millstream: Millstream) -> None:
    millstream.create_topic("orders")
    (broker,) = millstream.brokers
    broker.cut()
    began_s = time.monotonic()
    mending = threading.Timer(1.0, broker.mend)
    mending.start()
    assert put(millstream, b"1") is None
    assert time.monotonic() - began_s >= 1.0
    mending.join()
    assert millstream.values("orders") == [b"1"]


def test_a_slow_link_is_slow(millstream: Millstream) -> None:
    millstream.create_topic("orders")
    (broker,) = millstream.brokers
    broker.slow_down(500)
    slow_s = putting_takes_s(millstream, b"1")
    assert slow_s >= 1.0  # several requests, one after the other
    broker.slow_down(0)
    assert putting_takes_s(millstream, b"2") < slow_s
    assert millstream.values("orders") == [b"1", b"2"]


def putting_takes_s(millstream: Millstream, value: bytes) -> float:
    began_s = time.monotonic()
    assert put(millstream, value) is None
    return time.monotonic() - began_s


def test_a_full_disk_refuses_until_there_is_room(millstream: Millstream) -> None:
    millstream.create_topic("orders")
    assert put(millstream, b"1") is None
    (broker,) = millstream.brokers
    broker.fill_disk()
    error = put(millstream, b"2", **{"message.timeout.ms": 1500})
    assert error is not None
    broker.free_disk()
    assert put(millstream, b"3") is None
    assert millstream.values("orders") == [b"1", b"3"]


@pytest.mark.parametrize("brokers", [pytest.param(1), pytest.param(3, marks=three)])
def test_a_coordinator_that_moves_keeps_members_and_offsets(millstream: Millstream, brokers: int) -> None:
    assert len(millstream.brokers) == brokers
    millstream.create_topic("orders")
    millstream.produce("orders", "1", "2")
    config = {**millstream.librdkafka(), "group.id": "billing", "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, "enable.auto.commit": False})
    consumer.subscribe(["orders"])
    first = consumer.poll(PATIENCE_S)
    assert first is not None
    consumer.commit(first, asynchronous=False)
    members = millstream.members("billing")
    millstream.move_coordinator("billing")
    second = consumer.poll(PATIENCE_S)
    assert second is not None
    consumer.commit(second, asynchronous=False)
    millstream.wait_for_lag("billing", 0)
    assert millstream.members("billing") == members
    consumer.close()


@pytest.mark.millstream(tls=True, users={"alice": "in wonderland", "bob": "the builder"})
def test_tls_and_users(millstream: Millstream) -> None:
    millstream.create_topic("orders")
    assert put(millstream, b"1") is None
    assert put(millstream, b"2", **{"sasl.username": "bob", "sasl.password": "the builder"}) is None
    wrong = put(millstream, b"3", **{"sasl.password": "guess", "message.timeout.ms": 2000})
    assert wrong is not None
    assert millstream.values("orders") == [b"1", b"2"]
    assert millstream.client_properties("bob")["sasl.jaas.config"].endswith('username="bob" password="the builder";')


def test_what_cannot_be_done_is_said(millstream: Millstream) -> None:
    (broker,) = millstream.brokers
    with pytest.raises(TestingError, match="INVALID_REPLICATION_FACTOR"):
        millstream.create_topic("orders", replication_factor=3)
    broker.kill()
    with pytest.raises(TestingError, match="not running"):
        broker.pause()
    broker.start()
    with pytest.raises(TimeoutError, match="billing is not at lag 0: it has committed nothing"):
        millstream.wait_for_lag("billing", timeout_s=0.1)
    with pytest.raises(TimeoutError, match="orders has 0 records, 1 were waited for"):
        millstream.wait_for_records("orders", 1, timeout_s=0.1)
