"""Groups of Java, librdkafka and aiokafka members that come, go, stand still and are killed while records come all the while.

Two of the combinations run always, all of them with CHURN=all.
"""

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer, TopicPartition
from feed import Feed
from python_member import SESSION_MS
from servers import ServerProcess, eventually, node
from test_confluent import create
from verifiable_members import Member, Partition, VerifiableMember, check_all_read, check_owners, python_member

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

PARTITIONS = 6
TIMEOUT_S = 120
JAVA_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


@dataclass(frozen=True, slots=True)
class Combination:
    protocol: str
    assignor: str
    clients: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.protocol}-{self.assignor}-{'-'.join(self.clients)}"


ALWAYS = (
    Combination("classic", "range", ("java", "confluent", "aiokafka")),
    Combination("consumer", "uniform", ("java", "confluent")),
)
MORE = (
    Combination("classic", "roundrobin", ("aiokafka", "java", "confluent")),
    Combination("classic", "sticky", ("java", "aiokafka")),
    Combination("classic", "cooperative-sticky", ("confluent", "java")),
    Combination("classic", "range", ("aiokafka",)),
    Combination("classic", "cooperative-sticky", ("java",)),
    Combination("classic", "cooperative-sticky", ("confluent",)),
    Combination("consumer", "range", ("confluent", "java")),
    Combination("consumer", "uniform", ("confluent",)),
)
COMBINATIONS = ALWAYS + (MORE if os.environ.get("CHURN") == "all" else ())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = (
        "group.consumer.heartbeat.interval.ms=500",
        f"group.consumer.session.timeout.ms={SESSION_MS}",
        "group.consumer.assignment.interval.ms=0",
        "group.initial.rebalance.delay.ms=0",
        "offsets.topic.num.partitions=1",
    )
    with node(tmp_path_factory.mktemp("churn"), *settings) as running:
        yield running


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_every_record_is_read_and_no_partition_has_two_readers(
    server: ServerProcess, topic: str, combination: Combination
) -> None:
    create(server.bootstrap, topic, partitions=PARTITIONS)
    group = Churning(server.bootstrap, topic, combination)
    try:
        churn(group)
    finally:
        group.end()


class Churning:
    """The group, the records it reads, and what it committed, which must never go back."""

    def __init__(self, bootstrap: str, topic: str, combination: Combination) -> None:
        self.members: list[Member] = []
        self.feed = Feed(bootstrap, topic, PARTITIONS)
        self._where = bootstrap, topic, f"g-{topic}"
        self._combination = combination
        self._committed: dict[int, int] = {}
        self._went_back: list[str] = []
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()

    def start(self) -> Member:
        """One more, by the next of the clients."""
        clients, protocol, assignor = self._combination.clients, self._combination.protocol, self._combination.assignor
        number = len(self.members)
        client = clients[number % len(clients)]
        name = f"{client}-{number}"
        if client != "java":
            self.members.append(python_member(name, client, protocol, assignor, *self._where))
        elif protocol == "consumer":
            options = ["--group-protocol", "consumer", "--group-remote-assignor", assignor]
            self.members.append(VerifiableMember(name, *self._where, *options))
        else:
            strategy = f"org.apache.kafka.clients.consumer.{JAVA_ASSIGNORS[assignor]}"
            options = ["--session-timeout", str(SESSION_MS), "--assignment-strategy", strategy]
            self.members.append(VerifiableMember(name, *self._where, *options))
        return self.members[-1]

    def settle(self, *absent: Member) -> None:
        """Until all who are there share all partitions."""
        present = [member for member in self.members if member.is_alive and member not in absent]

        def check() -> None:
            owned = {member.name: member.owned for member in present}
            assert all(owned.values()), (owned, [member.complaints[-500:] for member in present if not member.owned])
            assert sum(map(len, owned.values())) == len(set().union(*owned.values())) == PARTITIONS, owned

        eventually(check, within_s=TIMEOUT_S)

    def check(self) -> None:
        self.feed.stop()
        eventually(lambda: check_all_read(self.members, self.feed.ends, once=False), within_s=TIMEOUT_S)
        eventually(self._check_committed, within_s=TIMEOUT_S)
        check_owners(self.members)
        assert self._went_back == []

    def _check_committed(self) -> None:
        ends: dict[Partition, int] = self.feed.ends
        assert self._committed == {number: end for (_, number), end in ends.items()}

    def _watch(self) -> None:
        bootstrap, topic, group = self._where
        reader = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        while not self._stop.wait(0.2):
            for each in reader.committed(partitions, TIMEOUT_S):
                before = self._committed.get(each.partition, 0)
                if 0 <= each.offset < before:
                    self._went_back.append(f"{each.partition}: from {before} to {each.offset}")
                self._committed[each.partition] = max(before, each.offset)
        reader.close()

    def end(self) -> None:
        self._stop.set()
        self._watcher.join()
        self.feed.stop()
        for member in self.members:
            member.kill()


def churn(group: Churning) -> None:
    for _ in range(3):
        group.start()
    group.settle()
    group.start()
    group.settle()
    stopped, killed = group.members[1], group.members[2]
    stopped.absent()
    stopped.process.send_signal(signal.SIGSTOP)
    killed.absent()
    killed.kill()
    group.settle(stopped)
    stopped.process.send_signal(signal.SIGCONT)
    group.settle()
    group.members[0].stop()
    group.start()
    group.settle()
    sleeper = next((member for member in group.members if member.is_alive and not member.name.startswith("java")), None)
    if sleeper is not None:
        sleeper.absent()
        sleeper.process.send_signal(signal.SIGUSR1)
        group.settle(sleeper)
        sleeper.process.send_signal(signal.SIGUSR1)
        group.settle()
    group.check()
