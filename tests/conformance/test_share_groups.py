"""Share groups: the same requests to us and to Apache Kafka, request by request; then real clients, and what is left of it all after kill -9."""

import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, ShareConsumer
from kafka_tools import run_tool, tool_command
from servers import Cluster, ServerProcess, cluster, eventually, node
from share_member import ACCEPT, REJECT, RELEASE, RENEW, Acquired, Said, ShareMember, acquired_of, configure
from test_confluent import create, produce
from verifiable_members import Member
from wire_client import WireClient

from millstream_wire.errors import ErrorCode
from millstream_wire.records import Record, encode_batch

LOCK_MS = 5_000
SETTINGS = ("group.share.min.record.lock.duration.ms=1000", "share.coordinator.state.topic.num.partitions=5")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with node(tmp_path_factory.mktemp("share-groups"), *SETTINGS) as running:
        yield running


@pytest.fixture(params=["server", "kafka"])
def bootstrap(request: pytest.FixtureRequest) -> str:
    """Ours, and Kafka's own: what is said here is true of both."""
    found: str = request.getfixturevalue(request.param).bootstrap
    return found


@pytest.fixture
def group(bootstrap: str) -> str:
    """A group that begins at the beginning."""
    name = f"group-{uuid.uuid4().hex[:10]}"
    configure(bootstrap, name, share_auto_offset_reset="earliest")
    return name


@pytest.fixture
def member(bootstrap: str, topic: str, group: str) -> Iterator[Callable[[], ShareMember]]:
    """Members that have joined, of a group that reads a topic of one partition."""
    with WireClient(bootstrap) as client:
        client.create_topic(topic)
    made: list[ShareMember] = []

    def make() -> ShareMember:
        made.append(ShareMember(bootstrap, group, topic))
        made[-1].join()
        return made[-1]

    yield make
    for each in made:
        each.close()


def append(bootstrap: str, topic: str, *sizes: int) -> None:
    """A batch of so many records each."""
    with WireClient(bootstrap) as client:
        for size in sizes:
            records = [Record(offset=0, timestamp=1, key=None, value=b"x") for _ in range(size)]
            assert client.produce(topic, encode_batch(records)).error_code == 0


def test_members_share_a_partition_and_say_of_each_record_what_became_of_it(
    bootstrap: str, topic: str, member: Callable[[], ShareMember]
) -> None:
    one, other = member(), member()
    append(bootstrap, topic, 4, 4)
    assert one.acquire(max_records=1) == [Acquired(0, 3, 1)]
    assert other.acquire(max_records=3, share_acquire_mode=1) == [Acquired(4, 6, 1)]
    assert one.acquire() == [Acquired(7, 7, 1)]
    assert one.say((0, 3, [ACCEPT, RELEASE, REJECT, RELEASE]), (7, 7, [ACCEPT])) is ErrorCode.NONE
    assert other.say((0, 0, [ACCEPT])) is ErrorCode.NONE  # done is done
    assert other.say((1, 1, [ACCEPT])) is ErrorCode.INVALID_RECORD_STATE
    assert other.acquire() == [Acquired(1, 1, 2), Acquired(3, 3, 2)]
    assert other.say((1, 6, [ACCEPT])) is ErrorCode.INVALID_RECORD_STATE  # one of them is rejected
    assert other.say((1, 1, [ACCEPT]), (3, 6, [ACCEPT])) is ErrorCode.NONE
    append(bootstrap, topic, 1)
    assert one.acquire() == [Acquired(8, 8, 1)]


def test_what_is_not_acknowledged_comes_to_others_and_is_given_up_in_the_end(
    bootstrap: str, topic: str, group: str, member: Callable[[], ShareMember]
) -> None:
    configure(bootstrap, group, share_record_lock_duration_ms=str(LOCK_MS), share_delivery_count_limit="3")
    one, other = member(), member()
    append(bootstrap, topic, 1, 1)
    first = one.fetch()
    assert first.acquisition_lock_timeout_ms == LOCK_MS
    assert acquired_of(first) or one.acquire() == [Acquired(0, 1, 1)]
    assert one.say((1, 1, [ACCEPT])) is ErrorCode.NONE
    assert other.acquire() == [Acquired(0, 0, 2)]  # its time was over
    assert one.say((0, 0, [ACCEPT])) is ErrorCode.INVALID_RECORD_STATE
    other.close()  # its connection is gone, and so is its session
    assert one.acquire() == [Acquired(0, 0, 3)]
    assert one.say((0, 0, [RELEASE])) is ErrorCode.NONE
    append(bootstrap, topic, 1)
    assert one.acquire() == [Acquired(2, 2, 1)]


REFUSED: Sequence[tuple[Said, ErrorCode]] = (
    ((1, 0, [ACCEPT]), ErrorCode.INVALID_REQUEST),
    ((0, 1, [ACCEPT] * 3), ErrorCode.INVALID_REQUEST),
    ((0, 0, []), ErrorCode.INVALID_REQUEST),
    ((0, 0, [9]), ErrorCode.INVALID_REQUEST),
    ((0, 0, [-1]), ErrorCode.INVALID_REQUEST),
    ((0, 4, [ACCEPT]), ErrorCode.INVALID_REQUEST),
    ((50, 60, [ACCEPT]), ErrorCode.INVALID_REQUEST),
    ((0, 0, [RENEW]), ErrorCode.INVALID_REQUEST),
)


def test_requests_that_make_no_sense_are_refused_as_kafka_does(
    bootstrap: str, topic: str, member: Callable[[], ShareMember]
) -> None:
    one = member()
    append(bootstrap, topic, 4)
    assert one.fetch(epoch=5).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert one.fetch(epoch=-1, topics=[]).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert one.acknowledge((0, 0, [ACCEPT]), epoch=1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert one.acknowledge((0, 0, [ACCEPT]), epoch=0).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert one.fetch((0, 0, [ACCEPT]), epoch=0).error_code == ErrorCode.INVALID_REQUEST
    assert one.fetch(member_id="").error_code == ErrorCode.INVALID_REQUEST
    assert one.acquire() == [Acquired(0, 3, 1)]
    assert one.fetch(epoch=99).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert one.fetch(is_renew_ack=True).error_code == ErrorCode.INVALID_REQUEST
    for said, code in REFUSED:
        assert one.say(said) is code, said
    assert one.say((1, 1, [ACCEPT]), (0, 0, [ACCEPT])) is ErrorCode.INVALID_REQUEST
    renewed = one.acknowledge((0, 0, [RENEW]), is_renew_ack=True)
    assert [partition.error_code for topic in renewed.responses for partition in topic.partitions] == [0]
    assert one.say((0, 3, [ACCEPT])) is ErrorCode.NONE
    assert one.acknowledge((0, 0, [ACCEPT]), epoch=-1).error_code == 0
    assert one.fetch((0, 0, [ACCEPT]), epoch=-1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


# ---- real clients, and kill -9: ours alone ----

PATIENCE_S = 120
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")


def test_what_was_accepted_stays_so_when_the_node_is_killed(fresh: Path, topic: str) -> None:
    with node(fresh, *SETTINGS) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic(topic)
        configure(server.bootstrap, "group", share_auto_offset_reset="earliest", share_delivery_count_limit="3")
        append(server.bootstrap, topic, 6)
        with closing(ShareMember(server.bootstrap, "group", topic)) as member:
            member.join()
            assert member.acquire() == [Acquired(0, 5, 1)]
            assert member.say((0, 4, [ACCEPT, RELEASE, ACCEPT, REJECT, RELEASE])) is ErrorCode.NONE
            assert member.acquire() == [Acquired(1, 1, 2), Acquired(4, 4, 2)]
        server.kill()
        server.start()
        with closing(ShareMember(server.bootstrap, "group", topic)) as member:
            member.join()
            found = member.acquire()
            # What was out when the node died is not counted; the connection may have been gone before, which is.
            assert [each[:2] for each in found] == [(1, 1), (4, 4), (5, 5)]
            assert all(2 <= each.deliveries <= 3 for each in found[:2])
            assert member.say((0, 5, [ACCEPT])) is ErrorCode.INVALID_RECORD_STATE
            assert member.say((1, 1, [ACCEPT]), (4, 5, [ACCEPT])) is ErrorCode.NONE
            append(server.bootstrap, topic, 1)
            assert member.acquire() == [Acquired(6, 6, 1)]


class Worker:
    """librdkafka's share consumer, in a thread: accepts what it gets, and notes what it was told of that."""

    def __init__(self, bootstrap: str, group: str, topic: str, accepted: set[str]) -> None:
        """`accepted`: by any of the group, known to be."""
        self.delivered: list[str] = []
        self.came_again: list[str] = []
        self._accepted = accepted
        self._ends = threading.Event()
        self._consumer = ShareConsumer(
            {"bootstrap.servers": bootstrap, "group.id": group, "share.acknowledgement.mode": "explicit"}
        )
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._work)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ends.set()
        self._thread.join(PATIENCE_S)

    def _work(self) -> None:
        while not self._ends.is_set():
            got = [message for message in self._poll() if message.error() is None]
            by_partition: dict[tuple[str, int], list[str]] = {}
            for message in got:
                value = message.value().decode()
                self.delivered.append(value)
                if value in self._accepted:
                    self.came_again.append(value)
                by_partition.setdefault((message.topic(), message.partition()), []).append(value)
                self._consumer.acknowledge(message)
            for place, error in self._commit().items():
                if error is None:
                    self._accepted.update(by_partition.get((place.topic, place.partition), ()))
        self._consumer.close()

    def _poll(self):  # type: ignore[no-untyped-def]
        try:
            return list(self._consumer.poll(0.5))
        except KafkaException:
            return []

    def _commit(self):  # type: ignore[no-untyped-def]
        try:
            return self._consumer.commit_sync(30)
        except KafkaException:
            return {}


def test_a_cluster_that_loses_coordinators_and_brokers_loses_and_repeats_nothing(fresh: Path, topic: str) -> None:
    """Each record comes at least once; once it is known to be accepted it never comes again."""
    with cluster(fresh, *SETTINGS) as running:
        bootstrap = running.bootstrap
        create(bootstrap, topic, 3)
        configure(bootstrap, "group", share_auto_offset_reset="earliest", share_delivery_count_limit="10")
        values = [str(number) for number in range(900)]
        accepted: set[str] = set()
        workers = [Worker(bootstrap, "group", topic, accepted) for _ in range(2)]
        for worker in workers:
            worker.start()
        try:
            produce(bootstrap, topic, values[:300])
            kill_and_restart(running, "coordinator")
            produce(bootstrap, topic, values[300:600])
            kill_and_restart(running, "broker")
            produce(bootstrap, topic, values[600:])
            eventually(lambda: all_came(values, workers), within_s=PATIENCE_S)
            # One may have taken all of them while the other still looked for its coordinator.
            eventually(lambda: all_share(bootstrap, topic, workers), within_s=PATIENCE_S)
        finally:
            for worker in workers:
                worker.stop()
    assert [worker.came_again for worker in workers] == [[], []]
    assert len(accepted) > len(values) // 2


def kill_and_restart(running: Cluster, role: str) -> None:
    name = min(name for name in running.processes() if name.startswith(role))
    running.kill(name)
    running.restart(name)


def all_share(bootstrap: str, topic: str, workers: Sequence[Worker]) -> None:
    """While there is more, everyone gets some of it."""
    produce(bootstrap, topic, [f"more-{uuid.uuid4().hex}" for _ in range(30)])
    assert all(worker.delivered for worker in workers)


def all_came(values: Sequence[str], workers: Sequence[Worker]) -> None:
    assert set(values) <= {value for worker in workers for value in worker.delivered}


@needs_java
def test_java_members_share_a_partition_and_one_is_killed(server: ServerProcess, topic: str) -> None:
    bootstrap = server.bootstrap
    create(bootstrap, topic, 1)
    configure(bootstrap, f"group-{topic}", share_auto_offset_reset="earliest", share_delivery_count_limit="10")
    told = ["--bootstrap-server", bootstrap, "--topic", topic, "--group-id", f"group-{topic}"]
    members = [
        Member(name, tool_command("kafka-verifiable-share-consumer", [*told, "--acknowledgement-mode", mode]))
        for name, mode in (("one", "sync"), ("other", "auto"))
    ]
    try:
        offsets: list[int] = []

        def both_have_some() -> None:
            offsets.extend(offset for _, offset in produce(bootstrap, topic, ["x"] * 10))
            assert all(acknowledged(each) for each in members)

        eventually(both_have_some, within_s=PATIENCE_S)
        members[0].kill()
        offsets.extend(offset for _, offset in produce(bootstrap, topic, ["x"] * 200))

        def all_are_done() -> None:
            assert {offset for each in members for offset in acknowledged(each)} >= set(offsets)

        eventually(all_are_done, within_s=PATIENCE_S)
        members[1].stop()
    finally:
        for each in members:
            each.kill()
    done = acknowledged(members[0]) + acknowledged(members[1])
    assert len(done) == len(set(done)), "what was acknowledged comes to nobody again"
    described = run_tool(
        "kafka-share-groups", ["--bootstrap-server", bootstrap, "--describe", "--group", f"group-{topic}"]
    )
    assert described.stdout.split()[-5:] == [f"group-{topic}", topic, "0", str(len(offsets)), "0"]


def acknowledged(member: Member) -> list[int]:
    return [
        offset
        for event in list(member.events)
        if event["name"] == "offsets_acknowledged" and event["success"]
        for partition in event["partitions"]
        for offset in partition["offsets"]
    ]
