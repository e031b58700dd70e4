"""What a console knows of its cluster for some seconds: whoever looks, and however many, the cluster is asked once."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from millstream_client import Cluster, KafkaError, Unreachable
from millstream_client.admin import Resource, ResourceType, describe_all_settings
from millstream_client.brokers import Directory, Node, Replica, directories_of, nodes_of, replicas_of
from millstream_client.health import Finding, troubles
from millstream_client.metadata import NO_LEADER, Partition, Snapshot

T = TypeVar("T")

METADATA_AGE_MS = 2_000
SIZES_AGE_MS = 10_000
THIN_TOPICS_MAX = 200
"""Of how many topics with missing replicas the settings are asked for."""


class Remembered(Generic[T]):
    """One answer, asked for again when it is too old; who asks meanwhile waits for the same one."""

    def __init__(self, ask: Callable[[], Awaitable[T]], age_ms: int, now_ms: Callable[[], int]) -> None:
        self._ask = ask
        self._age_ms = age_ms
        self._now_ms = now_ms
        self._asking = asyncio.Lock()
        self._known: tuple[int, T] | None = None

    async def get(self) -> T:
        async with self._asking:
            if self._known is None or self._now_ms() - self._known[0] >= self._age_ms:
                answer = await self._ask()
                self._known = (self._now_ms(), answer)
            return self._known[1]

    def forget(self) -> None:
        """Something was changed: the next one who asks sees it."""
        self._known = None


@dataclass(frozen=True, slots=True)
class Members:
    cluster_id: str
    controller_id: int
    nodes: list[Node]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of what is stored, in bytes; without what the silent brokers hold."""

    topics: dict[str, int]
    """One copy of each partition: the biggest."""
    brokers: dict[int, int]
    silent: frozenset[int]


class View:
    """Of one cluster, as those see it who may see what its credentials may."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        now_ms = cluster.world.monotonic_ms
        self._snapshot = Remembered(lambda: cluster.describe(), METADATA_AGE_MS, now_ms)
        self._members = Remembered(self._ask_members, METADATA_AGE_MS, now_ms)
        self._findings = Remembered(self._ask_findings, METADATA_AGE_MS, now_ms)
        self._sizes = Remembered(self._ask_sizes, SIZES_AGE_MS, now_ms)
        self._directories = Remembered(self._ask_directories, SIZES_AGE_MS, now_ms)

    async def snapshot(self) -> Snapshot:
        return await self._snapshot.get()

    async def members(self) -> Members:
        return await self._members.get()

    async def findings(self) -> list[Finding]:
        return await self._findings.get()

    async def directories(self) -> dict[int, list[Directory]]:
        """By broker; without those that do not answer."""
        return await self._directories.get()

    async def sizes(self) -> Sizes:
        return await self._sizes.get()

    def forget(self) -> None:
        for each in (self._snapshot, self._members, self._findings, self._sizes, self._directories):
            each.forget()

    async def _ask_members(self) -> Members:
        return Members(*await nodes_of(self.cluster))

    async def _ask_findings(self) -> list[Finding]:
        snapshot = await self.snapshot()
        members = await self.members()
        thin = [topic.name for topic in snapshot.topics.values() if any(map(is_thin, topic.partitions))]
        wanted = [Resource(ResourceType.TOPIC, name) for name in thin[:THIN_TOPICS_MAX]]
        settings = await describe_all_settings(self.cluster, wanted)
        of_topics = {each.name: found for each, found in settings.items()}
        return await troubles(self.cluster, members.nodes, snapshot, of_topics)

    async def _ask_sizes(self) -> Sizes:
        """Brokers that do not answer are left out: what the others hold is still so."""
        answers, silent = await self._ask_live(lambda broker: replicas_of(self.cluster, broker))
        partitions: dict[tuple[str, int], int] = {}
        brokers = {broker: sum(each.size_bytes for each in answer) for broker, answer in answers.items()}
        for answer in answers.values():
            _count(answer, partitions)
        topics: Counter[str] = Counter()
        for (name, _), size_bytes in partitions.items():
            topics[name] += size_bytes
        return Sizes(dict(topics), brokers, silent)

    async def _ask_directories(self) -> dict[int, list[Directory]]:
        answers, _ = await self._ask_live(lambda broker: directories_of(self.cluster, broker))
        return answers

    async def _ask_live(self, ask: Callable[[int], Awaitable[T]]) -> tuple[dict[int, T], frozenset[int]]:
        """What live brokers answer, and who of them says nothing; whoever may not ask is told nothing by any."""
        await self.snapshot()
        live = [each.node_id for each in (await self.members()).nodes if not each.is_fenced]
        found, silent = {}, set()
        for broker, answer in zip(live, await asyncio.gather(*map(ask, live), return_exceptions=True), strict=True):
            if isinstance(answer, Unreachable):
                silent.add(broker)
            elif isinstance(answer, BaseException):
                if not isinstance(answer, KafkaError):
                    raise answer
            else:
                found[broker] = answer
        return found, frozenset(silent)


def _count(replicas: list[Replica], partitions: dict[tuple[str, int], int]) -> None:
    for each in replicas:
        if not each.is_future:
            place = (each.topic, each.partition)
            partitions[place] = max(partitions.get(place, 0), each.size_bytes)


def is_thin(partition: Partition) -> bool:
    """Whether a replica is missing or behind."""
    return partition.leader_id == NO_LEADER or len(partition.isr) < len(partition.replicas)
