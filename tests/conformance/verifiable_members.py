"""Members of a group as Kafka's VerifiableConsumer, which tells in JSON what it has and what it read; and the checks of what they told."""

import json
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from kafka_tools import tool_command

Partition = tuple[str, int]


class VerifiableMember:
    """One process; `events` is what it has said so far, each with the time at which it was read."""

    def __init__(self, name: str, bootstrap: str, topic: str, group: str, *options: str) -> None:
        arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--group-id", group]
        arguments += ["--reset-policy", "earliest", *options]
        self.name = name
        self.events: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            tool_command("kafka-verifiable-consumer", arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            self.events.append({**event, "read_at": time.monotonic()})

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
        return has

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
        self._reader.join(10)
        assert self.process.stdout is not None
        self.process.stdout.close()


def spans_of(members: Iterable[VerifiableMember]) -> dict[Partition, list[tuple[int, int, str]]]:
    """Each partition's offsets as they were read: first, last, by whom; sorted."""
    spans: dict[Partition, list[tuple[int, int, str]]] = defaultdict(list)
    for member in members:
        for event in member.events:
            if event["name"] == "records_consumed":
                for each in event["partitions"]:
                    span = (each["minOffset"], each["maxOffset"], member.name)
                    spans[each["topic"], each["partition"]].append(span)
    return {partition: sorted(found) for partition, found in spans.items()}


def check_all_read(members: Iterable[VerifiableMember], ends: dict[Partition, int], *, once: bool) -> None:
    """Every offset before its partition's end was read; `once`: and none of them twice."""
    spans = spans_of(members)
    for partition, end in ends.items():
        position = 0
        for first, last, name in spans.get(partition, []):
            assert first <= position, f"{partition}: nobody read {position} to {first}"
            assert not once or first == position, f"{partition}: {name} read {first} again"
            position = max(position, last + 1)
        assert position >= end, f"{partition}: read up to {position} of {end}"


def check_owners(members: Iterable[VerifiableMember]) -> None:
    """At no time did two members have a partition, by the times at which they said so themselves."""
    changes = []
    for member in members:
        for event in member.events:
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
