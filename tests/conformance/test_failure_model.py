"""What is promised when machines fail (docs/operations.md), sentence by sentence, with real processes."""

import contextlib
import fcntl
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from itertools import count

import pytest
import servers
from ask import ask
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from growing import partitions_of, whole
from wire_client import PRODUCE_VERSION, WireClient, produce_request

from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.elect_leaders import TopicPartitions
from millstream_wire.records import Record, encode_batch

TIMEOUT_S = 60
BROKERS = ("broker-1", "broker-2", "broker-3")
BATCH = encode_batch([Record(-1, 1, b"k", b"value")])
UNCLEAN = 1
NOBODY = -1
STAYS_SO_S = 4.0
"""How long it stays so."""
NOTICED_S = 2.0
"""For how long a producer waits only because it has to."""


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Cluster]:
    """Each test leaves it with all brokers running, and topics of its own only."""
    with servers.cluster(tmp_path_factory.mktemp("failures")) as running:
        yield running


@pytest.fixture
def kept(three: servers.Cluster, topic: str) -> str:
    """A topic with one partition: led by broker 1, copied by 2 and 3, two of which have to be in sync; a record in it."""
    servers.eventually(lambda: whole(three.bootstrap, 3), within_s=TIMEOUT_S)
    admin = AdminClient({"bootstrap.servers": three.bootstrap})  # has to outlive what it asks
    admin.create_topics([NewTopic(topic, 1, replica_assignment=[[1, 2, 3]])])[topic].result(TIMEOUT_S)
    servers.eventually(lambda: stands(three, topic, leader=1, isr=[1, 2, 3]))
    assert produced(three, topic, 1) == ErrorCode.NONE
    return topic


@pytest.fixture(autouse=True)
def _clean(three: servers.Cluster, topic: str) -> Iterator[None]:
    yield
    admin = AdminClient({"bootstrap.servers": three.bootstrap})
    admin.delete_topics([topic])[topic].result(TIMEOUT_S)


def addresses(three: servers.Cluster) -> dict[int, str]:
    return dict(enumerate(three.bootstrap.split(","), 1))


def stands(three: servers.Cluster, topic: str, *, leader: int, isr: list[int] | None = None) -> None:
    try:
        partition = partitions_of(three.bootstrap)[topic, 0]
    except KafkaException as error:
        raise AssertionError("no broker answers") from error
    assert partition.leader == leader, (partition.leader, partition.isrs)
    assert isr is None or sorted(partition.isrs) == isr


def produced(three: servers.Cluster, topic: str, broker: int, *, acks: int = -1) -> int:
    request = produce_request(topic, BATCH)
    request.acks = acks
    with WireClient(addresses(three)[broker]) as client:
        answer = client.call(request, PRODUCE_VERSION, m.ProduceResponse)
        return int(answer.responses[0].partition_responses[0].error_code)


def records(three: servers.Cluster, topic: str, broker: int) -> int:
    """How many its leader shows."""
    with WireClient(addresses(three)[broker]) as client:
        return len(client.fetch(topic, 0).records or b"") // len(BATCH)


def lose(three: servers.Cluster, name: str) -> None:
    """Its machine and all that its disk had."""
    three.kill(name)
    shutil.rmtree(three.logs_of(name))


def elect_uncleanly(three: servers.Cluster, topic: str) -> None:
    """Broker 3 is there in all tests that ask for it."""
    partition = TopicPartitions(topic=topic, partitions=[0])
    (answer,) = ask(addresses(three)[3], m.ElectLeadersRequest(election_type=UNCLEAN, topic_partitions=[partition]))
    assert answer.error_code == ErrorCode.NONE
    assert answer.replica_election_results[0].partition_result[0].error_code == ErrorCode.NONE, answer


def test_with_two_of_three_away_acks_all_is_refused_and_an_eligible_replica_leads_again(
    three: servers.Cluster, kept: str
) -> None:
    three.stop("broker-2")
    servers.eventually(lambda: stands(three, kept, leader=1, isr=[1, 3]))
    assert produced(three, kept, 1) == ErrorCode.NONE
    three.stop("broker-3")
    servers.eventually(lambda: stands(three, kept, leader=1, isr=[1]))
    assert produced(three, kept, 1) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert produced(three, kept, 1, acks=1) == ErrorCode.NONE
    assert records(three, kept, 1) == 2  # the third is committed by nobody: the high watermark stands still
    three.kill("broker-1")
    three.restart("broker-2")  # has only the first, and is not eligible
    three.restart("broker-3")  # has all that was acknowledged by two
    servers.eventually(lambda: stands(three, kept, leader=3, isr=[2, 3]), within_s=TIMEOUT_S)
    assert records(three, kept, 3) == 2
    assert produced(three, kept, 3) == ErrorCode.NONE
    three.restart("broker-1")
    servers.eventually(lambda: stands(three, kept, leader=3, isr=[1, 2, 3]), within_s=TIMEOUT_S)
    assert records(three, kept, 3) == 3


def test_two_disks_lost_at_once_lose_nothing_that_the_third_has_in_sync(three: servers.Cluster, kept: str) -> None:
    lose(three, "broker-1")
    lose(three, "broker-2")
    three.restart("broker-1")
    three.restart("broker-2")
    servers.eventually(lambda: stands(three, kept, leader=3, isr=[1, 2, 3]), within_s=TIMEOUT_S)
    assert records(three, kept, 3) == 1


def test_two_disks_lost_that_alone_had_something_leave_the_partition_offline(three: servers.Cluster, kept: str) -> None:
    three.kill("broker-3")
    servers.eventually(lambda: stands(three, kept, leader=1, isr=[1, 2]))
    assert produced(three, kept, 1) == ErrorCode.NONE
    lose(three, "broker-1")
    lose(three, "broker-2")
    three.restart("broker-3")  # of the others, whoever is first in the order of the replicas would be elected
    servers.eventually(lambda: offline(three, kept, {3}), within_s=TIMEOUT_S)
    elect_uncleanly(three, kept)
    servers.eventually(lambda: stands(three, kept, leader=3, isr=[3]), within_s=TIMEOUT_S)
    three.restart("broker-1")
    three.restart("broker-2")
    servers.eventually(lambda: stands(three, kept, leader=3, isr=[1, 2, 3]), within_s=TIMEOUT_S)
    assert records(three, kept, 3) == 1


def test_all_disks_lost_leave_it_offline_until_somebody_accepts_the_loss(three: servers.Cluster, kept: str) -> None:
    for name in BROKERS:
        lose(three, name)
    for name in BROKERS:
        three.restart(name)
    servers.eventually(lambda: offline(three, kept, {1, 2, 3}), within_s=TIMEOUT_S)
    elect_uncleanly(three, kept)
    servers.eventually(lambda: whole(three.bootstrap, 3), within_s=TIMEOUT_S)
    leader = partitions_of(three.bootstrap)[kept, 0].leader
    assert records(three, kept, leader) == 0
    assert produced(three, kept, leader) == ErrorCode.NONE


def offline(three: servers.Cluster, topic: str, there: set[int]) -> None:
    """Although these are there."""
    stands(three, topic, leader=NOBODY)
    live = AdminClient({"bootstrap.servers": three.bootstrap}).list_topics(timeout=10).brokers
    assert there <= set(live)


class Pace:
    """A producer with acks=all that sends a record every 50 ms, and knows since when nothing was acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0, "log_level": 2}
        )
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._last = time.monotonic()
        self.longest_pause_s = 0.0
        self.acknowledged: set[bytes] = set()
        self.failed: list[str] = []

    def __enter__(self) -> "Pace":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(TIMEOUT_S) == 0

    @property
    def pause_s(self) -> float:
        return time.monotonic() - self._last

    def waits(self) -> None:
        assert self.pause_s > NOTICED_S

    def goes_on(self) -> None:
        assert self.pause_s < 0.5

    def _run(self) -> None:
        for number in count():
            if self._stop.wait(0.05):
                return
            value = b"%d" % number
            self._producer.produce(self._topic, value, partition=0, on_delivery=self._delivered)
            self._producer.poll(0)

    def _delivered(self, error: object, message) -> None:  # type: ignore[no-untyped-def]
        if error is not None:
            self.failed.append(str(error))
            return
        self.acknowledged.add(message.value())
        self.longest_pause_s = max(self.longest_pause_s, self.pause_s)
        self._last = time.monotonic()


@contextlib.contextmanager
def unreachable_store(three: servers.Cluster) -> Iterator[None]:
    """The controllers' store answers nobody: its lock is held, as a hung API server would hold what it was asked."""
    fd = os.open(three.store / ".lock", os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def steps_aside(three: servers.Cluster, before: int) -> None:
    assert said_aside(three) > before


def said_aside(three: servers.Cluster) -> int:
    return sum(three.log_of(name).count("controller steps aside") for name in ("controller-1", "controller-2"))


def test_without_its_store_whole_isrs_notice_nothing_and_others_wait(three: servers.Cluster, kept: str) -> None:
    with Pace(three.bootstrap, kept) as pace:
        servers.eventually(pace.goes_on)
        before = said_aside(three)
        pace.longest_pause_s = 0.0
        with unreachable_store(three):
            servers.eventually(lambda: steps_aside(three, before), within_s=TIMEOUT_S)
            time.sleep(STAYS_SO_S)
            assert pace.longest_pause_s < NOTICED_S
            servers.eventually(pace.goes_on)
            three.send("broker-3", signal.SIGSTOP)
            servers.eventually(pace.waits)
            three.send("broker-3", signal.SIGCONT)
            servers.eventually(pace.goes_on)  # the ISR is whole again, and nobody had to decide that
            three.kill("broker-3")
            servers.eventually(pace.waits)
        servers.eventually(pace.goes_on, within_s=TIMEOUT_S)
        three.restart("broker-3")
        servers.eventually(lambda: stands(three, kept, leader=1, isr=[1, 2, 3]), within_s=TIMEOUT_S)
    assert pace.failed == []
    assert pace.acknowledged <= values(three, kept)


def values(three: servers.Cluster, topic: str) -> set[bytes]:
    settings = {"bootstrap.servers": three.bootstrap, "group.id": topic, "enable.partition.eof": True}
    reader = Consumer(settings)
    reader.assign([TopicPartition(topic, 0, 0)])
    found = set()
    while (message := reader.poll(TIMEOUT_S)) is not None and message.error() is None:
        value = message.value()
        assert value is not None
        found.add(value)
    reader.close()
    return found
