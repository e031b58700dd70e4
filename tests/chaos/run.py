"""One run: a system, its clients, faults for so long, a last look, and the judgement."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from checker import check
from clients import COMMON, ORDERS, PARTITIONS
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from copiers import GROUP as COPIERS
from disks import Disk, Folder
from fault_plan import Family, faults
from history import COMMITTED, Acked, Commit, Ended, Event, HistoryFile, Trouble, Whole, now, read_history
from network import Loopback, Network
from replica_logs import stored_logs
from report import report
from strikes import Striker
from systems import Place, System, kafka_names, kafka_system, our_names, our_system
from unavailability import BEFORE_ALL
from violations import Kind, Violation
from wire_client import WireClient
from workload import GROUPS, ROLES, WRITERS

from millstream_wire.messages import ElectLeadersRequest, ElectLeadersResponse

HERE = Path(__file__).resolve().parent
READY_WITHIN_S = 90
ELECT_LEADERS_VERSION = 2
CALM_AT_THE_END_S = 2
CLIENTS_END_WITHIN_S = 50
_TOLD_S = 0.5
REPLACED = 1_000
"""The first life of those who take the place of clients that hang."""
LOOK_WITHIN_S = 240


@dataclass(frozen=True, slots=True)
class Options:
    seed: int
    seconds: int
    families: Sequence[Family]
    against_kafka: bool
    factor: int
    steady: bool
    """Whether the groups' members stay."""
    victims: str
    """What the names of those begin with who are hit."""
    isolated: bool
    has_disks: bool
    settings: Sequence[str]
    topic_settings: Sequence[str]
    directory: Path


class Run:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._began = time.monotonic()
        options.directory.mkdir(parents=True, exist_ok=True)
        names = kafka_names() if options.against_kafka else our_names()
        self._network = Network(names) if options.isolated else Loopback(names, os.getpid())
        self._disks: list[Disk | Folder] = []
        self._clients: dict[str, subprocess.Popen[bytes]] = {}
        self._stuck: list[str] = []
        self._bootstrap = ""

    def __call__(self) -> int:
        """How many promises were broken."""
        self._network.make()
        try:
            history = self._course()
            violations = [*self._own_violations(history), *check(history)]
            if violations:
                for disk in self._disks:
                    disk.keep(self._options.directory / "kept")
        finally:
            for disk in self._disks:
                disk.remove()
            self._network.remove()
        print(report(history, violations, self._name), flush=True)
        return len(violations)

    @property
    def _name(self) -> str:
        system = "Apache Kafka" if self._options.against_kafka else "Millstream"
        options = self._options
        return f"{system}, replication factor {options.factor}, seed {options.seed}: {','.join(options.families)}"

    def _say(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:6.1f}  {text}", flush=True)

    def _course(self) -> list[Event]:
        place = Place(self._options.directory, self._network, self._new_disk, self._options.factor)
        system = (kafka_system if self._options.against_kafka else our_system)(place, self._options.settings)
        try:
            self._start(system)
            self._with_clients(system)
            self._last_look(system)
        finally:
            for client in self._clients.values():
                client.kill()
                client.wait()
            for node in system.nodes.values():
                node.end()
        with self._history("replicas") as history:
            for node in system.brokers:
                history.note(*stored_logs(node.name, node.disk.logs, PARTITIONS))
        return [event for path in sorted(self._options.directory.glob("*.jsonl")) for event in read_history(path)]

    def _new_disk(self, name: str) -> Disk | Folder:
        disk = (Disk if self._options.has_disks else Folder)(self._options.directory / "disks", name)
        self._disks.append(disk)
        return disk

    @contextlib.contextmanager
    def _history(self, name: str) -> Iterator[HistoryFile]:
        history = HistoryFile(self._options.directory / f"{name}.jsonl")
        yield history
        history.close()

    def _start(self, system: System) -> None:
        for node in system.nodes.values():
            node.start()
        _until(lambda: all(node.is_up for node in system.nodes.values()), READY_WITHIN_S, "the system to start")
        admin = AdminClient({"bootstrap.servers": system.bootstrap, **COMMON})
        _until(lambda: len(_metadata(admin).brokers) >= len(system.brokers), READY_WITHIN_S, "all brokers")
        factor = self._options.factor
        configs = dict(text.split("=", 1) for text in self._options.topic_settings)
        topics = [NewTopic(name, count, factor, config=configs) for name, count in PARTITIONS.items()]
        for future in admin.create_topics(topics, request_timeout=READY_WITHIN_S).values():
            future.result()
        self._say("the system is up")

    def _with_clients(self, system: System) -> None:
        options = self._options
        self._bootstrap = system.bootstrap
        for role in ROLES:
            self._clients[role] = self._workload(role)
        admin = AdminClient({"bootstrap.servers": system.bootstrap, **COMMON})
        _until(self._everybody_works, READY_WITHIN_S, "every client to get something done")
        with self._history("faults") as history:
            striker = Striker(
                system,
                self._network,
                history,
                lambda: self._not_whole(admin),
                lambda: _put_leaders_back(system.bootstrap),
                self._say,
            )
            if striker.wait_whole():
                raise RuntimeError("not whole before the first fault")
            history.note(Whole(BEFORE_ALL, now()))
            self._say("every client works")
            begun = time.monotonic()
            spared = frozenset(name for name in system.nodes if not name.startswith(options.victims))
            cast = replace(system.cast, spared=spared)
            striker.run(faults(options.seed, options.families, cast), begun + options.seconds)
            time.sleep(
                max(CALM_AT_THE_END_S, begun + options.seconds - time.monotonic()) if not striker.problems else 0
            )
        self._stuck += striker.problems
        self._end_clients()

    def _everybody_works(self) -> bool:
        """Acknowledged on every partition of the orders, a transaction of every topic, a commit of every group."""
        paths = [self._options.directory / f"{role}.jsonl" for role in ROLES]
        events = [event for path in paths if path.exists() for event in read_history(path)]
        produced = {event.partition for event in events if isinstance(event, Acked)}
        committed = {event.topic for event in events if isinstance(event, Ended) and event.outcome == COMMITTED}
        groups = {event.group for event in events if isinstance(event, Commit) and not event.error}
        return len(produced) == PARTITIONS[ORDERS] and len(committed) == 2 and len(groups) == len(GROUPS)

    def _workload(self, role: str, *, life: int = 0) -> subprocess.Popen[bytes]:
        path = str(self._options.directory / f"{role}.jsonl")
        steady = "steady" if self._options.steady else "churning"
        return self._program(
            role, "workload.py", role, self._bootstrap, path, str(self._options.seed), str(life), steady
        )

    def _program(self, name: str, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self._options.directory / f"{name}.log").open("ab") as log:
            return subprocess.Popen([sys.executable, str(HERE / program), *arguments], stdout=log, stderr=log)

    def _not_whole(self, admin: AdminClient) -> str:
        """Which replicas are not in sync, as a client is told."""
        try:
            topics = _metadata(admin).topics
        except KafkaException as error:
            return str(error)
        short = [
            f"{name}-{number} in sync: {sorted(partition.isrs)}"
            for name, topic in sorted(topics.items())
            for number, partition in sorted(topic.partitions.items())
            if partition.leader < 0 or len(partition.isrs) < len(partition.replicas)
        ]
        return f"{len(short)} partitions, such as {short[0]}" if short else ""

    def _end_clients(self) -> None:
        self._end_roles(WRITERS)
        self._end_roles([role for role in ROLES if role not in WRITERS])
        self._say("the clients have ended")

    def _end_roles(self, roles: Sequence[str]) -> None:
        deadline = time.monotonic() + CLIENTS_END_WITHIN_S
        for role in roles:
            self._clients[role].terminate()
        for role in roles:
            if not self._ends(role, deadline):
                # librdkafka does not always come back. Whether it is the servers' doing shows when another one goes on.
                self._say(f"the clients of {role} hang: others take their place")
                self._clients[role] = self._workload(role, life=REPLACED)
                if not self._ends(role, time.monotonic() + CLIENTS_END_WITHIN_S):
                    self._stuck.append(f"the clients of {role} did not come to their end, nor who took their place")

    def _ends(self, role: str, deadline: float) -> bool:
        """Whether it did in time; if not, it is gone now."""
        client = self._clients[role]
        try:
            code = client.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            client.send_signal(signal.SIGUSR1)
            time.sleep(_TOLD_S)
            client.kill()
            client.wait()
            return False
        if code != 0:
            log = (self._options.directory / f"{role}.log").read_text()
            self._stuck.append(f"the clients of {role} ended with {code}: {log[-1500:]}")
        return True

    def _last_look(self, system: System) -> None:
        groups = ",".join([*GROUPS.values(), COPIERS])
        path = str(self._options.directory / "final.jsonl")
        look = self._program("final", "final_look.py", system.bootstrap, path, groups)
        try:
            code = look.wait(LOOK_WITHIN_S)
        except subprocess.TimeoutExpired:
            look.kill()
            look.wait()
            code = -1
        if code != 0:
            log = (self._options.directory / "final.log").read_text()
            self._stuck.append(f"the last look ended with {code}: {log[-1500:]}")
        self._say("everything was read")

    def _own_violations(self, history: Sequence[Event]) -> list[Violation]:
        """What the harness sees and no client's history says."""
        ended = [each for each in history if isinstance(each, Trouble) and "ended by itself" in each.error]
        if self._options.against_kafka:
            ended = []  # it ends when its only disk fails, and says so: what our brokers promise not to do
        return [
            *(Violation(Kind.STUCK, "the run", text) for text in self._stuck),
            *(Violation(Kind.ENDED, each.client, each.error) for each in ended),
        ]


def _metadata(admin: AdminClient):  # type: ignore[no-untyped-def]
    return admin.list_topics(timeout=5)


def _put_leaders_back(bootstrap: str) -> None:
    """As far as that is possible now; it is no fault of the servers if it is not."""
    for address in bootstrap.split(","):
        with contextlib.suppress(OSError), WireClient(address) as client:
            client.call(
                ElectLeadersRequest(topic_partitions=None, timeout_ms=10_000),
                ELECT_LEADERS_VERSION,
                ElectLeadersResponse,
            )
            return


def _until(check: Callable[[], bool], within_s: float, what: str) -> None:
    deadline = time.monotonic() + within_s
    while True:
        with contextlib.suppress(KafkaException):
            if check():
                return
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {within_s} s for {what}")
        time.sleep(0.2)
