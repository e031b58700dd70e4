"""A cluster under test: where it is, what was produced to it, how far its groups are, its clock, and what goes wrong with it."""

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from millstream.testing.host_process import HostProcess, TestingError
from millstream.testing.record import Lag, Record
from millstream.testing.wanted import Wanted

T = TypeVar("T")

DEFAULT_TIMEOUT_S = 30.0
LOOK_S = 0.01
LOOK_MAX_S = 0.1


class Millstream:
    """Any Kafka client talks to it at `bootstrap_servers`. Its methods wait; in a coroutine use `await cluster.later.produced(...)`."""

    def __init__(self, host: HostProcess, wanted: Wanted, *, keep_reserve: bool = False) -> None:
        self._host = host
        self._wanted = wanted
        self._number, self.bootstrap_servers, self.ssl_cafile = host.ask("open", wanted, keep_reserve)
        self.brokers = [Broker(host, self._number, number) for number in range(1, wanted.brokers + 1)]
        self.later = Later(self)
        """The same methods for coroutines."""
        self._is_closed = False

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._host.ask("close", self._number)

    def __enter__(self) -> "Millstream":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- how clients connect ----

    def client_properties(self, user: str | None = None) -> dict[str, str]:
        """For Java's clients and ours; `librdkafka` below has it for confluent-kafka. `user`: the first one if none is named."""
        properties: dict[str, str] = self._ask("client_properties", self._user(user))
        return {"bootstrap.servers": self.bootstrap_servers, **properties}

    def librdkafka(self, user: str | None = None) -> dict[str, str]:
        """For confluent-kafka and whatever else is made of librdkafka."""
        config = {"bootstrap.servers": self.bootstrap_servers, "security.protocol": self._wanted.protocol}
        if self.ssl_cafile is not None:
            config["ssl.ca.location"] = self.ssl_cafile
        name = self._user(user)
        if name is not None:
            config |= {
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.username": name,
                "sasl.password": self._wanted.users[name],
            }
        return config

    def _user(self, user: str | None) -> str | None:
        if user is not None and user not in self._wanted.users:
            raise TestingError(f"there is no user {user}, only {', '.join(self._wanted.users) or 'nobody'}")
        return user if user is not None else next(iter(self._wanted.users), None)

    # ---- topics and records ----

    def create_topic(
        self,
        name: str | None = None,
        *,
        partitions: int = 1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
    ) -> str:
        """The name, which is a new one if none is given: for tests that share a cluster."""
        name = name if name is not None else f"topic-{uuid.uuid4().hex[:12]}"
        self._ask("create_topic", name, partitions, replication_factor, dict(configs or {}))
        return name

    def produce(self, topic: str, *records: Record | bytes | str) -> list[int]:
        """Their offsets, once all replicas in sync have them. A text or bytes is a value without a key."""
        made = [each if isinstance(each, Record) else Record(_bytes(each)) for each in records]
        offsets: list[int] = self._ask("produce", topic, made)
        return offsets

    def produced(self, topic: str) -> list[Record]:
        """What consumers see of the topic now, all of it; of transactions, what is committed."""
        records: list[Record] = self._ask("produced", topic)
        return records

    def values(self, topic: str) -> list[bytes | None]:
        """As `produced`, the values alone."""
        return [each.value for each in self.produced(topic)]

    def wait_for_records(self, topic: str, count: int, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> list[Record]:
        """At least so many; raise TimeoutError with what there is."""

        def look() -> tuple[bool, list[Record]]:
            records = self.produced(topic)
            return len(records) >= count, records

        return self._wait(look, timeout_s, lambda found: f"{topic} has {len(found)} records, {count} were waited for")

    # ---- groups ----

    def lag(self, group: str) -> int | None:
        """Of all partitions that the group has committed in; None while it has committed nothing."""
        known = [each.lag for each in self.lags(group) if each.lag is not None]
        return sum(known) if known else None

    def lags(self, group: str) -> list[Lag]:
        found: list[Lag] | None = self._ask("lags", group)
        return found or []

    def wait_for_lag(self, group: str, lag: int = 0, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Until the group has committed all but so many records; raise TimeoutError with what there is."""

        def look() -> tuple[bool, list[Lag]]:
            found = self.lags(group)
            known = [each.lag for each in found if each.lag is not None]
            return bool(known) and len(known) == len(found) and sum(known) <= lag, found

        self._wait(look, timeout_s, lambda found: f"group {group} is not at lag {lag}: {_shown(found)}")

    def groups(self) -> dict[str, str]:
        """The state of each group."""
        found: dict[str, str] = self._ask("groups")
        return found

    def members(self, group: str) -> list[str]:
        found: list[str] = self._ask("members", group)
        return found

    def move_coordinator(self, group: str) -> None:
        """Have the coordinator of this group stop; another one takes its groups up, and where there is one broker a new one does."""
        self.coordinator_of(group).restart_coordinator()

    def coordinator_of(self, group: str) -> "Broker":
        node: int = self._ask("coordinator_of", group)
        return self.brokers[node % COORDINATORS - 1]

    def leader_of(self, topic: str, partition: int = 0) -> "Broker":
        node: int = self._ask("leader_of", topic, partition)
        return self.brokers[node - 1]

    # ---- the clock ----

    def advance(self, by: timedelta | None = None, **parts: float) -> None:
        """Move the cluster's clock: `advance(days=7)`. What is due by then has happened when this returns.

        Clients keep their own clocks: to the cluster, those that say nothing meanwhile have been silent for all that time.
        """
        passed = by if by is not None else timedelta(**parts)
        if passed < timedelta(0):
            raise ValueError("time goes forward only")
        self._ask("advance", passed.total_seconds())

    def now_ms(self) -> int:
        """The cluster's time. Clients stamp records by their own: give them this where retention is what the test is about."""
        now_ms: int = self._ask("now_ms")
        return now_ms

    def _ask(self, name: str, *arguments: Any) -> Any:
        return self._host.ask(name, self._number, *arguments)

    @staticmethod
    def _wait(look: Callable[[], tuple[bool, T]], timeout_s: float, complaint: Callable[[T], str]) -> T:
        deadline = time.monotonic() + timeout_s
        pause_s = LOOK_S
        while True:
            reached, found = look()
            if reached:
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(complaint(found))
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, LOOK_MAX_S)


COORDINATORS = 10_000
"""A coordinator's id is its node's and this."""


class Broker:
    """One of the brokers, with its controller and its coordinator: a process, to the others."""

    def __init__(self, host: HostProcess, cluster: int, number: int) -> None:
        self._host = host
        self._cluster = cluster
        self.number = number
        """Its node.id, from 1."""

    def kill(self) -> None:
        """As by SIGKILL."""
        self._act("kill")

    def stop(self) -> None:
        """As by SIGTERM: it hands over what it leads."""
        self._act("stop")

    def start(self) -> None:
        """Again, with its files and at its address."""
        self._act("start")

    def pause(self) -> None:
        """As by SIGSTOP: its connections stay open and nothing answers. The others miss it after `advance(days=2)`."""
        self._act("pause")

    def resume(self) -> None:
        self._act("resume")

    def cut(self) -> None:
        """From everybody, brokers and clients: it runs, and no byte comes or goes. Missed as one that is paused."""
        self._act("cut")

    def mend(self) -> None:
        self._act("mend")

    def slow_down(self, milliseconds: float) -> None:
        """It sees so much later what arrives; 0 ends that."""
        self._act("slow_down", milliseconds / 1000)

    def fill_disk(self) -> None:
        """Every write fails for want of room."""
        self._act("fill_disk")

    def free_disk(self) -> None:
        self._act("free_disk")

    def restart_coordinator(self) -> None:
        """Only that: its groups and transactions move, the broker goes on."""
        self._act("restart_coordinator")

    def _act(self, action: str, *arguments: Any) -> None:
        self._host.ask("act", self._cluster, self.number, action, arguments)


class Later:
    """Every method of a cluster as a coroutine, so that a test's event loop goes on meanwhile."""

    def __init__(self, cluster: Millstream) -> None:
        self._cluster = cluster

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        method = getattr(self._cluster, name)

        def call(*arguments: Any, **more: Any) -> Coroutine[Any, Any, Any]:
            return asyncio.to_thread(partial(method, *arguments, **more))

        return call


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _shown(lags: Sequence[Lag]) -> str:
    if not lags:
        return "it has committed nothing"
    return ", ".join(f"{each.topic}-{each.partition} at {each.committed} of {each.end}" for each in lags)
