"""A coordinator under many members: 5,000 that only heartbeat, and one group of 500 that rebalances."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median, quantiles

from confluent_kafka.admin import AdminClient, NewTopic
from group_members import ClassicMember, ConsumerMember, Member, coordinators_of, delete_groups, until
from usage import Usage, usage_of

GROUPS_CASE = "groups: thousands of members that heartbeat, hundreds that rebalance"
GROUPS, MEMBERS_EACH = 500, 10
LARGE, LARGE_PARTITIONS = 500, 1000
STEADY_S = 20.0
KINDS: tuple[type[ClassicMember] | type[ConsumerMember], ...] = (ClassicMember, ConsumerMember)
QUIET_S = 12.0
"""After this long nobody is asked for heartbeats more often than usual."""
SETTLE_S = 300.0

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Coordinator:
    bootstrap: str
    pid: int

    def usage(self) -> Usage:
        return usage_of(self.pid)


def measure_groups(directory: Path, scale: float, turns: int) -> None:
    """Run all of it, on a coordinator that is a process of its own, and print each result as it comes."""
    print(f"\none coordinator, one core, load {os.getloadavg()[0]:.1f}", flush=True)
    with _cluster(directory) as coordinator:
        asyncio.run(_measure(coordinator, scale, turns))


async def _measure(coordinator: Coordinator, scale: float, turns: int) -> None:
    """The first once more after the others: by then memory has to have stopped growing."""
    for kind in KINDS:
        print(await _many(coordinator, kind, max(1, round(GROUPS * scale))), flush=True)
    print(await _many(coordinator, ClassicMember, max(1, round(GROUPS * scale))), flush=True)
    for kind in KINDS:
        print(await _large(coordinator, kind, max(2, round(LARGE * scale)), turns), flush=True)


@contextlib.contextmanager
def _cluster(directory: Path) -> Iterator[Coordinator]:
    """A broker, a controller and a coordinator, each a process."""
    program = Path(sys.executable).with_name("millstream")
    command = [str(program), "cluster", "--port", "0", "--data", str(directory)]
    command += ["--brokers", "1", "--controllers", "1", "--coordinators", "1"]
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "cluster.log", "wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        bootstrap = next((word for word in line.split() if ":" in word and word[-1].isdigit()), "")
        if not bootstrap:
            raise RuntimeError((directory / "cluster.log").read_text()[-2000:])
        started = json.loads((directory / "pids.json").read_text())
        pid = next(each["pid"] for name, each in started.items() if name.startswith("coordinator"))
        yield Coordinator(bootstrap, pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


async def _many(coordinator: Coordinator, kind: type[ClassicMember] | type[ConsumerMember], groups: int) -> str:
    topic = f"many-{kind.protocol}-{next(_numbers)}"
    _create(coordinator.bootstrap, topic, MEMBERS_EACH)
    names = [f"{topic}-{number}" for number in range(groups)]
    addresses = await coordinators_of(coordinator.bootstrap, names)
    members = [
        kind(addresses[name], name, f"{name}-{number}", topic, MEMBERS_EACH)
        for name in names
        for number in range(MEMBERS_EACH)
    ]
    empty, started = coordinator.usage(), time.monotonic()
    async with _running(members) as running:
        await until(lambda: _settled(members), running, SETTLE_S)
        joined_s = time.monotonic() - started
        for member in members:
            member.latencies_s.clear()
        before, started = coordinator.usage(), time.monotonic()
        await asyncio.sleep(STEADY_S)
        after, seconds = coordinator.usage(), time.monotonic() - started
        latencies = [each for member in members for each in member.latencies_s]
        for task in running:
            if task.done():
                task.result()
    await _delete(addresses)
    join_cpu_s, cpu_s = before.cpu_s - empty.cpu_s, after.cpu_s - before.cpu_s
    p99_ms = quantiles(latencies, n=100)[98] * 1000
    return (
        f"{kind.protocol:9} {len(members)} members in {groups} groups: {len(latencies) / seconds:.0f} heartbeats/s on "
        f"{cpu_s / seconds * 100:.0f} % of a core ({cpu_s / len(latencies) * 1e6:.0f} us each), p99 {p99_ms:.0f} ms, "
        f"RSS {_megabytes(empty)} MB before, {_megabytes(after)} MB with them, {_megabytes(coordinator.usage())} MB "
        f"when they are gone, all joined after {joined_s:.1f} s and {join_cpu_s:.1f} CPU-s ({sum(member.refused for member in members)} asked again), "
        f"load {os.getloadavg()[0]:.1f}"
    )


async def _large(
    coordinator: Coordinator, kind: type[ClassicMember] | type[ConsumerMember], size: int, turns: int
) -> str:
    """All but one come at once, and then the last: how long until all have their assignment for good."""
    topic = f"large-{kind.protocol}"
    _create(coordinator.bootstrap, topic, LARGE_PARTITIONS)
    together_s, last_s, cpu_s = [], [], []
    for turn in range(turns):
        name = f"{topic}-{turn}"
        addresses = await coordinators_of(coordinator.bootstrap, [name])
        members = [kind(addresses[name], name, f"{name}-{number}", topic, LARGE_PARTITIONS) for number in range(size)]
        before = coordinator.usage()
        async with _running(members[:-1]) as running:
            together_s.append(await _rebalanced(members[:-1], running))
            await asyncio.sleep(QUIET_S)
            async with _running(members[-1:]) as last:
                last_s.append(await _rebalanced(members, [*running, *last]))
        cpu_s.append(coordinator.usage().cpu_s - before.cpu_s)
        await _delete(addresses)
    return (
        f"{kind.protocol:9} one group of {size}, {LARGE_PARTITIONS} partitions, all assigned after the last join: "
        f"{_spread(last_s)} s when one more comes, {_spread(together_s)} s when they come at once; "
        f"{median(cpu_s):.2f} CPU-s, RSS {_megabytes(coordinator.usage())} MB, load {os.getloadavg()[0]:.1f}"
    )


async def _rebalanced(members: Sequence[Member], running: Sequence[asyncio.Task[None]]) -> float:
    """Seconds from the last join to the last assignment."""
    await until(lambda: _settled(members), running, SETTLE_S)
    return max(member.assigned_at for member in members) - max(member.joined_at for member in members)


async def _delete(addresses: dict[str, tuple[str, int]]) -> None:
    await delete_groups(addresses)
    await asyncio.sleep(1)


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):.2f} ({min(values):.2f}..{max(values):.2f})"


def _megabytes(usage: Usage) -> str:
    return f"{usage.resident_bytes / 1e6:.0f}"


@contextlib.asynccontextmanager
async def _running(members: Sequence[Member]) -> AsyncIterator[list[asyncio.Task[None]]]:
    """All connected first, so that what is measured is the group and not the network."""
    await asyncio.gather(*(member.connect() for member in members))
    tasks = [asyncio.create_task(member.run()) for member in members]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(member.leave() for member in members))


def _settled(members: Sequence[Member]) -> bool:
    """Every group's members are in one generation; of the consumer protocol, all partitions are somebody's, evenly."""
    by_group: dict[str, list[Member]] = {}
    for member in members:
        by_group.setdefault(member.group, []).append(member)
    return all(_is_settled(group) for group in by_group.values())


def _is_settled(group: Sequence[Member]) -> bool:
    if any(member.assigned_at == 0 for member in group) or len({member.epoch for member in group}) != 1:
        return False
    if isinstance(group[0], ClassicMember):
        return True
    sizes = [len(member.partitions) for member in group]
    return max(sizes) - min(sizes) <= 1 and min(sizes) > 0


def _create(bootstrap: str, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(60)
