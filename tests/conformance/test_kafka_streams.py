"""Kafka Streams' own word count with exactly-once v2: each word is counted once, whatever is killed meanwhile."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import servers
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from growing import partitions_of, whole
from kafka_programs import Program, programs_libs, write_properties
from kafka_tools import KafkaUnavailable

PARTITIONS = 2
TIMEOUT_S = 180
SOURCE, COUNTS = "streams-plaintext-input", "streams-wordcount-output"  # the demo's own
WORDS = ["all", "streams", "lead", "to", "kafka"]
WORD_COUNT = "org.apache.kafka.streams.examples.wordcount.WordCountDemo"


@pytest.fixture
def word_count(fresh: Path) -> Callable[[str], Program]:
    """The demo, for a server's address."""
    try:
        programs_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))

    def program(bootstrap: str) -> Program:
        settings = {
            "bootstrap.servers": bootstrap,
            "processing.guarantee": "exactly_once_v2",
            "state.dir": str(fresh / "state"),
            "reconnect.backoff.max.ms": "500",
            "consumer.session.timeout.ms": "6000",  # how long a killed demo's partitions wait for the next one
        }
        return Program(WORD_COUNT, [write_properties(fresh / "streams.properties", settings)], fresh / "streams.log")

    return program


def prepare(bootstrap: str, *, replicas: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, PARTITIONS, replicas) for topic in (SOURCE, COUNTS)]).values():
        future.result(TIMEOUT_S)


class Lines:
    """Writes lines of text and knows how often each word is in them."""

    def __init__(self, bootstrap: str) -> None:
        settings = {"enable.idempotence": True, "linger.ms": 0, "metadata.recovery.strategy": "none"}
        self._producer = Producer({"bootstrap.servers": bootstrap, "reconnect.backoff.max.ms": 500, **settings})
        self.written = 0

    def write(self, count: int) -> None:
        for number in range(count):
            self._producer.produce(SOURCE, " ".join(WORDS).encode(), partition=number % PARTITIONS)
        assert self._producer.flush(TIMEOUT_S) == 0
        self.written += count

    def counts(self) -> dict[str, list[int]]:
        """What the demo has to write: it passes on every step of every count."""
        return {word: list(range(1, self.written + 1)) for word in WORDS}


def counted(bootstrap: str) -> dict[str, list[int]]:
    """Each word's counts as a reader of committed records sees them, in order."""
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    reader.assign([TopicPartition(COUNTS, index, 0) for index in range(PARTITIONS)])
    found: dict[str, list[int]] = {}
    at_end: set[int | None] = set()
    while len(at_end) < PARTITIONS:
        message = reader.poll(TIMEOUT_S)
        assert message is not None, found
        if message.error() is not None:
            at_end.add(message.partition())
            continue
        key, value = message.key(), message.value()
        assert key is not None
        assert value is not None
        found.setdefault(key.decode(), []).extend(struct.unpack(">q", value))
    reader.close()
    return found


def until_counted(bootstrap: str, program: Program, lines: Lines) -> None:
    def check() -> None:
        program.assert_running()
        assert counted(bootstrap) == lines.counts(), program.log_tail()

    servers.eventually(check, within_s=TIMEOUT_S, every_s=0.5)


def test_word_count_on_servers_of_their_own(fresh: Path, word_count: Callable[[str], Program]) -> None:
    """With three replicas of what it reads, what it writes and what it keeps for itself."""
    with servers.cluster(fresh) as running:
        prepare(running.bootstrap, replicas=3)
        lines = Lines(running.bootstrap)
        lines.write(100)
        with word_count(running.bootstrap) as program:
            until_counted(running.bootstrap, program, lines)
            for victim in ("coordinator-1", "broker-2", "coordinator-2", "broker-1"):
                running.kill(victim)
                lines.write(50)
                running.restart(victim)
                until_counted(running.bootstrap, program, lines)
                servers.eventually(lambda: whole(running.bootstrap, 3), within_s=TIMEOUT_S)
            assert any(topic.endswith("-changelog") for topic, _ in partitions_of(running.bootstrap))


def test_word_count_while_the_node_and_the_program_are_killed(
    fresh: Path, word_count: Callable[[str], Program]
) -> None:
    with servers.node(fresh) as running:
        prepare(running.bootstrap, replicas=1)
        lines = Lines(running.bootstrap)
        lines.write(100)
        with word_count(running.bootstrap) as program:
            until_counted(running.bootstrap, program, lines)
            for _ in range(2):
                lines.write(200)  # some of which is being counted when the node dies
                running.kill()
                running.start()
            until_counted(running.bootstrap, program, lines)
            lines.write(200)
            program.kill()
            program.start()  # what it had in hand is undone, and its state comes back from the changelog
            until_counted(running.bootstrap, program, lines)
