"""`millstream why`: what it tells is what was done to a cluster, and what a group's own log says, ours and Apache Kafka's."""

import json
import subprocess
from typing import Any

import pytest
import servers
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from millstream.testing import Millstream

TIMEOUT_S = 60


def run(at: str, *arguments: str, code: int = 0) -> str:
    command = [servers.MILLSTREAM, "why", *arguments, "--bootstrap", at]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def told(at: str, *arguments: str) -> list[tuple[str, str, str | None]]:
    events: list[dict[str, Any]] = json.loads(run(at, *arguments, "--json"))["events"]
    assert [each["time_ms"] for each in events] == sorted(each["time_ms"] for each in events)
    return [(each["about"], each["what"], each["why"]) for each in events]


@pytest.mark.millstream(brokers=3, settings={"auto.leader.rebalance.enable": "false"})
def test_a_broker_that_dies_and_comes_back_is_why(millstream: Millstream) -> None:
    at = millstream.bootstrap_servers
    millstream.create_topic("orders", partitions=1, replication_factor=3, configs={"retention.ms": "3600000"})
    gone = millstream.leader_of("orders")
    gone.kill()

    def another_leads() -> None:
        lost = [(about, what, why) for about, what, why in told(at, "topic", "orders") if "instead of" in what]
        assert [(about, f"instead of broker {gone.number}" in what) for about, what, _ in lost] == [("orders-0", True)]
        assert (lost[0][2] or "").startswith(f"broker {gone.number} ")

    servers.eventually(another_leads, within_s=120)
    story = told(at, "topic", "orders")
    assert story[0] == ("topic orders", "created", None)
    assert ("topic orders", "retention.ms = 3600000", None) in story
    gone.start()

    def it_is_back() -> None:
        back = [what for about, what, _ in told(at, "topic", "orders") if about == "orders-0"]
        assert any(what.startswith(f"broker {gone.number} in sync again") for what in back)

    servers.eventually(it_is_back, within_s=120)
    own = [
        (what.split(",")[0].split(":")[0], why)
        for about, what, why in told(at, "broker", str(gone.number))
        if about == f"broker {gone.number}"
        and not what.startswith("away for long")  # how long a start takes is not said here
    ]
    assert [what for what, _ in own] == ["registered", "let in", "fenced", "registered again", "let in"]
    assert own[3][1] == "without a proof that it stopped cleanly"
    assert "orders-0" in run(at, "broker", str(gone.number))
    assert any(what.startswith("controller ") for _, what, _ in told(at, "cluster"))
    assert "UNKNOWN_TOPIC_OR_PARTITION" in run(at, "topic", "nothing", code=1)
    assert "nothing happened since" in run(at, "topic", "orders", "--since", "2100-01-01T00:00:00+00:00")


def test_a_groups_own_log_tells_who_came_and_went(anywhere: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": anywhere})
    admin.create_topics([NewTopic(topic, 1)])[topic].result(TIMEOUT_S)
    group = f"g-{topic}"
    settings = {"bootstrap.servers": anywhere, "group.id": group, "client.id": "shop", "enable.auto.commit": False}
    consumer = Consumer({**settings, "group.protocol": "classic"})
    consumer.subscribe([topic])

    def is_in() -> None:
        consumer.poll(0.1)
        assert consumer.assignment()

    servers.eventually(is_in, within_s=120)
    consumer.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
    consumer.commit(offsets=[TopicPartition(topic, 0, 2)], asynchronous=False)
    consumer.close()

    def it_is_told() -> None:
        story = [(what, why) for about, what, why in told(anywhere, "group", group) if about == f"group {group}"]
        generations = [what.split(": ")[1] for what, _ in story if what.startswith("generation")]
        assert generations[-2:] == ["1 member", "no members"]
        whys = [why or "" for _, why in story]
        assert any(why.startswith(("members: shop at ", "came: shop at ")) for why in whys)
        assert any(why.startswith("went: shop at ") for why in whys)
        assert (f"goes back in {topic}-0, from 5 to 2", "somebody committed that") in story

    servers.eventually(it_is_told, within_s=120)
    assert "TIME" in run(anywhere, "group", group)


def test_kafka_tells_no_history_of_its_topics(kafka: Any, topic: str) -> None:
    assert "does not tell its history" in run(kafka.bootstrap, "topic", topic, code=1)
