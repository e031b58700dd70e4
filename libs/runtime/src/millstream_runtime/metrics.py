"""What a process counts about its requests and connections, shown to Prometheus at /metrics.

Counting is on every request's path: plain integers in lists, turned into samples only when somebody asks.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from mypy_extensions import i64

from millstream_cluster.quotas.throttled import Throttled
from millstream_runtime.exposition import Collector, Family, Kind

BUCKETS_MS = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 5000.0, 30000.0)
_FIRST_BUCKET_MS: Final = 0.25
BUCKETS_SECONDS = tuple(bound / 1000 for bound in BUCKETS_MS)


class Latency:
    """Requests of one API at one listener: how many, how long."""

    __slots__ = ("_fastest", "_slower", "total_ms")

    def __init__(self) -> None:
        self._fastest: i64 = 0
        self._slower = [0] * len(BUCKETS_MS)
        self.total_ms = 0.0

    def observe(self, elapsed_ms: float) -> None:
        self.total_ms += elapsed_ms
        if elapsed_ms <= _FIRST_BUCKET_MS:  # as nearly every request is
            self._fastest += 1
        else:
            self._slower[bisect_left(BUCKETS_MS, elapsed_ms) - 1] += 1

    @property
    def counts(self) -> list[int]:
        """How many were in each bucket, and how many slower than the last."""
        return [self._fastest, *self._slower]


class ServerMetrics:
    """What one server counts."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "connections",
        "failed_logins",
        "latencies",
        "logins",
        "name",
        "rejected",
        "throttled",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.latencies: dict[str, Latency] = {}
        self.bytes_in: i64 = 0
        self.bytes_out: i64 = 0
        self.connections = 0
        self.rejected = 0
        self.logins = 0
        self.failed_logins = 0
        self.throttled: tuple[Throttled, ...] = ()
        """Of each quota that it keeps clients to."""

    def latency(self, api: str) -> Latency:
        found = self.latencies.get(api)
        if found is None:
            found = self.latencies[api] = Latency()
        return found


class Metrics:
    """One per process: what /metrics shows, of all its servers and of who registers here."""

    def __init__(self) -> None:
        self._servers: dict[str, ServerMetrics] = {}
        self._collectors: list[Collector] = []

    def server(self, name: str) -> ServerMetrics:
        """The counters of the server with this name (a service that starts again goes on counting)."""
        return self._servers.setdefault(name, ServerMetrics(name))

    def register(self, collector: Collector) -> None:
        self._collectors.append(collector)

    def unregister(self, collector: Collector) -> None:
        self._collectors.remove(collector)

    def text(self) -> str:
        families = [*self._of_servers(), *(family for collector in self._collectors for family in collector.collect())]
        return "".join(family.text() for family in families)

    def _of_servers(self) -> Iterable[Family]:
        latency = Family(Kind.HISTOGRAM, "millstream_request_seconds", "Time from a request's arrival to its reply.")
        received = Family(Kind.COUNTER, "millstream_received_bytes", "Bytes of requests.")
        sent = Family(Kind.COUNTER, "millstream_sent_bytes", "Bytes of replies.")
        rejected = Family(Kind.COUNTER, "millstream_rejected_requests", "Frames that closed their connection.")
        connections = Family(Kind.GAUGE, "millstream_connections", "Open connections.")
        logins = Family(Kind.COUNTER, "millstream_logins", "Clients that logged in, again too.")
        failed = Family(Kind.COUNTER, "millstream_failed_logins", "Logins that were refused.")
        throttled = Family(
            Kind.COUNTER, "millstream_throttled", "Requests and connections over a quota, which made their client wait."
        )
        throttle = Family(Kind.COUNTER, "millstream_throttle_seconds", "For how long they made it wait.")
        for server in self._servers.values():
            received.add(int(server.bytes_in), server=server.name)
            sent.add(int(server.bytes_out), server=server.name)
            rejected.add(server.rejected, server=server.name)
            connections.add(server.connections, server=server.name)
            logins.add(server.logins, server=server.name)
            failed.add(server.failed_logins, server=server.name)
            for each in server.throttled:
                throttled.add(each.times, server=server.name, quota=each.key)
                throttle.add(each.total_ms / 1000, server=server.name, quota=each.key)
            for api, values in server.latencies.items():
                total = values.total_ms / 1000
                latency.add_histogram(BUCKETS_SECONDS, values.counts, total, server=server.name, api=api)
        return [latency, received, sent, rejected, connections, logins, failed, throttled, throttle]
