"""Clients' own metrics (KIP-714): which are asked of which client, what it has pushed, and whether it may push now.

Subscriptions are made with `kafka-client-metrics`; a client that matches none is asked for nothing. What clients push is kept as
the latest number of each metric, for as long as they go on pushing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from uuid import UUID
from zlib import crc32

from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.otlp import MalformedMetrics, Sample, read_metrics
from millstream_wire.records import RecordsError
from millstream_wire.records.compression import Compression, decompress
from millstream_wire.schema import ZERO_UUID

DEFAULT_INTERVAL_MS = 300_000
BYTES_MAX = 1 << 20
"""Of one push, folded or not: Kafka's telemetry.max.bytes."""
CLIENTS_MAX = 1_000
SAMPLES_MAX = 100_000
"""Of all clients together; what comes beyond is counted and not kept."""
ACCEPTED_COMPRESSION = (Compression.ZSTD, Compression.LZ4, Compression.GZIP, Compression.SNAPPY)
SILENT_INTERVALS_MAX = 3
ALL_METRICS = "*"

Key = tuple[str, tuple[tuple[str, str], ...]]
"""A metric's name and its attributes."""


@dataclass(frozen=True, slots=True)
class Client:
    """What a subscription may choose clients by."""

    instance_id: UUID
    client_id: str
    software_name: str
    software_version: str
    address: str
    port: str

    def is_chosen_by(self, patterns: Mapping[str, str]) -> bool:
        own = {
            "client_instance_id": str(self.instance_id),
            "client_id": self.client_id,
            "client_software_name": self.software_name,
            "client_software_version": self.software_version,
            "client_source_address": self.address,
            "client_source_port": self.port,
        }
        return all(re.fullmatch(pattern, own[selector]) for selector, pattern in patterns.items())


@dataclass(frozen=True, slots=True)
class Subscription:
    interval_ms: int
    patterns: Mapping[str, str]
    metrics: tuple[str, ...]
    """Beginnings of names; an empty one for all."""

    @staticmethod
    def of(interval_ms: int, match: Iterable[str], metrics: Iterable[str]) -> "Subscription":
        """From a subscription's configuration."""
        patterns = {
            selector.strip(): pattern.strip() for selector, _, pattern in (item.partition("=") for item in match)
        }
        return Subscription(interval_ms, patterns, tuple("" if name == ALL_METRICS else name for name in metrics))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What all subscriptions together want of one client."""

    interval_ms: int
    metrics: tuple[str, ...]

    @property
    def id(self) -> int:
        """The same as long as the same is wanted, on every broker."""
        return crc32(f"{self.interval_ms} {','.join(self.metrics)}".encode()) - (1 << 31)

    @staticmethod
    def of(client: Client, subscriptions: Iterable[Subscription]) -> "Wanted":
        chosen = [each for each in subscriptions if each.metrics and client.is_chosen_by(each.patterns)]
        names = sorted({name for each in chosen for name in each.metrics})
        return Wanted(min((each.interval_ms for each in chosen), default=DEFAULT_INTERVAL_MS), tuple(names))


@dataclass(frozen=True, slots=True)
class Push:
    subscription_id: int
    is_last: bool
    compression: int
    metrics: bytes


@dataclass(slots=True)
class Instance:
    """One client that has asked or pushed."""

    client: Client
    wanted: Wanted
    asked_ms: int | None = None
    pushed_ms: int | None = None
    may_ask_again: bool = True
    """It was just told that what it knows is out of date."""
    is_ending: bool = False
    """It has said that this push is its last."""
    samples: dict[Key, float] = field(default_factory=dict)
    sums: set[Key] = field(default_factory=set)
    """Those of the samples that only grow."""

    def heard_ms(self) -> int:
        return max(self.asked_ms or 0, self.pushed_ms or 0)


class Telemetry:
    """The clients of this broker that tell of themselves; bounded, and rid of those that fell silent."""

    def __init__(self) -> None:
        self._instances: dict[UUID, Instance] = {}
        self.dropped_samples = 0

    def ask(self, client: Client, subscriptions: Iterable[Subscription], now_ms: int) -> tuple[ErrorCode, Wanted]:
        """What a client should push."""
        instance = self._instance(client, subscriptions, now_ms)
        if instance is None:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED, Wanted(DEFAULT_INTERVAL_MS, ())
        waited = instance.asked_ms is None or now_ms - instance.heard_ms() >= instance.wanted.interval_ms
        if not (waited or instance.may_ask_again):
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED, instance.wanted
        instance.asked_ms, instance.may_ask_again = now_ms, False
        return ErrorCode.NONE, instance.wanted

    def push(self, client: Client, push: Push, subscriptions: Iterable[Subscription], now_ms: int) -> ErrorCode:
        """Take what a client tells of itself."""
        if client.instance_id == ZERO_UUID:
            return ErrorCode.INVALID_REQUEST
        instance = self._instance(client, subscriptions, now_ms)
        if instance is None:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if instance.is_ending:
            return ErrorCode.INVALID_REQUEST
        error = self._refusal(instance, push, now_ms)
        if error is not ErrorCode.NONE:
            instance.may_ask_again = error is not ErrorCode.THROTTLING_QUOTA_EXCEEDED
            return error
        instance.pushed_ms, instance.is_ending = now_ms, push.is_last
        try:
            samples = read_metrics(decompress(push.compression, push.metrics, limit=BYTES_MAX))
        except (MalformedMetrics, RecordsError):
            return ErrorCode.INVALID_RECORD
        self._keep(instance, samples)
        return ErrorCode.NONE

    def instances(self, now_ms: int) -> Iterator[Instance]:
        """Those that are still heard of."""
        self._forget_silent(now_ms)
        return iter(self._instances.values())

    def _refusal(self, instance: Instance, push: Push, now_ms: int) -> ErrorCode:
        pushed_ms, wanted = instance.pushed_ms, instance.wanted
        asked_since = pushed_ms is None or (instance.asked_ms is not None and instance.asked_ms > pushed_ms)
        too_soon = not asked_since and pushed_ms is not None and now_ms - pushed_ms < wanted.interval_ms
        if too_soon and not push.is_last:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if push.subscription_id != wanted.id:
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        if push.compression not in (Compression.NONE, *ACCEPTED_COMPRESSION):
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return ErrorCode.TELEMETRY_TOO_LARGE if len(push.metrics) > BYTES_MAX else ErrorCode.NONE

    def _instance(self, client: Client, subscriptions: Iterable[Subscription], now_ms: int) -> Instance | None:
        """None while there are too many; who moves from another broker is as new here."""
        wanted = Wanted.of(client, subscriptions)
        instance = self._instances.get(client.instance_id)
        if instance is None:
            self._forget_silent(now_ms)
            if len(self._instances) >= CLIENTS_MAX:
                return None
            instance = self._instances[client.instance_id] = Instance(client, wanted, pushed_ms=None)
        if instance.wanted != wanted:
            instance.wanted, instance.may_ask_again = wanted, True
        return instance

    def _keep(self, instance: Instance, samples: Iterable[Sample]) -> None:
        room = SAMPLES_MAX - sum(len(each.samples) for each in self._instances.values())
        for sample in samples:
            key = (sample.name, sample.attributes)
            if key not in instance.samples:
                if room <= 0:
                    self.dropped_samples += 1
                    continue
                room -= 1
            before = instance.samples.get(key, 0.0) if sample.is_delta else 0.0
            instance.samples[key] = before + sample.value
            if sample.is_sum:
                instance.sums.add(key)

    def _forget_silent(self, now_ms: int) -> None:
        silent = [
            instance_id
            for instance_id, each in self._instances.items()
            if now_ms - each.heard_ms() > SILENT_INTERVALS_MAX * each.wanted.interval_ms
        ]
        for instance_id in silent:
            del self._instances[instance_id]
