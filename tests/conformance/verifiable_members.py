"""Members of a group that tell in JSON what they have and what they read, as Kafka's VerifiableConsumer does; and the checks of what they told."""

import json
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from kafka_tools import HERE, tool_command

Partition = tuple[str, int]
ABSENT = "absent"


class Member:
    """One process; `events` is what it has said so far, each with the time at which it was read."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.events: list[dict[str, Any]] = []
        self.complaints = ""
        """What came by its standard error."""
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read, self._read_complaints)]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            self.events.append({**event, "read_at": time.monotonic()})

    def _read_complaints(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.complaints += line

    @property
    def owned(self) -> set[Partition]:
        has: set[Partition] = set()
        for event in list(self.events):
            named = {(each["topic"], each["partition"]) for each in event.get("partitions", [])}
            match event["name"]:
                case "partitions_assigned":
                    has |= named
                case "partitions_revoked" | "partitions_lost":
                    has -= named
                case "shutdown_complete":
                    has = set()
                case "absent":
                    has = set()
        return has

    def absent(self) -> None:
        """It is killed, or made to stand still: whatever it says next, it was not there."""
        had = self.owned
        self.events.append({"name": ABSENT, "timestamp": int(time.time() * 1000), "had": had})

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        """As an operator stops it: it gives up what it has, commits and leaves."""
        self.process.terminate()
        self._ended()

    def kill(self) -> None:
        self.process.kill()
        self._ended()

    def _ended(self) -> None:
        self.process.wait(60)
        for reader, output in zip(self._readers, (self.process.stdout, self.process.stderr), strict=True):
            reader.join(10)
            assert output is not None
            output.close()


class VerifiableMember(Member):
    """As Java's client does it."""

    def __init__(self, name: str, bootstrap: str, topic: str, group: str, *options: str) -> None:
        arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--group-id", group]
        arguments += ["--reset-policy", "earliest", *options]
        super().__init__(name, tool_command("kafka-verifiable-consumer", arguments))


def python_member(
    name: str, library: str, protocol: str, assignor: str, bootstrap: str, topic: str, group: str, *instance: str
) -> Member:
    """As a Python client does it; what it does with signals: python_member.py."""
    program = str(HERE / "python_member.py")
    return Member(name, [sys.executable, program, library, protocol, assignor, bootstrap, topic, group, *instance])


def spans_of(members: Iterable[Member]) -> dict[Partition, list[tuple[int, int, str]]]:
    """Each partition's offsets as they were read: first, last, by whom; sorted."""
    spans: dict[Partition, list[tuple[int, int, str]]] = defaultdict(list)
    for member in members:
        for event in member.events:
            if event["name"] == "records_consumed":
                for each in event["partitions"]:
                    span = (each["minOffset"], each["maxOffset"], member.name)
                    spans[each["topic"], each["partition"]].append(span)
    return {partition: sorted(found) for partition, found in spans.items()}


def check_all_read(members: Iterable[Member], ends: dict[Partition, int], *, once: bool) -> None:
    """Every offset before its partition's end was read; `once`: and none of them twice."""
    spans = spans_of(members)
    for partition, end in ends.items():
        position = 0
        for first, last, name in spans.get(partition, []):
            assert first <= position, f"{partition}: nobody read {position} to {first}"
            assert not once or first == position, f"{partition}: {name} read {first} again"
            position = max(position, last + 1)
        assert position >= end, f"{partition}: read up to {position} of {end}"


def check_owners(members: Iterable[Member]) -> None:
    """At no time did two members have a partition, by the times at which they said so themselves.

    A member that was absent has nothing from then on, until it is given something anew: the group goes on without it.
    """
    changes = []
    for member in members:
        for event in member.events:
            if event["name"] == ABSENT:
                changes += [(event["timestamp"], False, partition, member.name) for partition in event["had"]]
            gains = event["name"] == "partitions_assigned"
            if gains or event["name"] in ("partitions_revoked", "partitions_lost"):
                for each in event["partitions"]:
                    changes.append((event["timestamp"], gains, (each["topic"], each["partition"]), member.name))
    owners: dict[Partition, str] = {}
    # What is given up in a millisecond is given up before it is got by another one.
    for timestamp, gains, partition, name in sorted(changes):
        if gains:
            assert owners.get(partition, name) == name, (
                f"{partition}: {owners[partition]} has it, {name} gets it at {timestamp}"
            )
            owners[partition] = name
        elif owners.get(partition) == name:
            del owners[partition]
