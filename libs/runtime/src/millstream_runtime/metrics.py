"""What a process counts about its requests and connections, shown to Prometheus at /metrics.

Counting is on every request's path: plain integers in lists, turned into samples only when somebody asks.
"""

from bisect import bisect_left
from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

BUCKETS_MS = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 5000.0, 30000.0)


class Latency:
    """Requests of one API at one listener: how many, how long."""

    __slots__ = ("counts", "total_ms")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_MS) + 1)
        self.total_ms = 0.0

    def observe(self, elapsed_ms: float) -> None:
        self.counts[bisect_left(BUCKETS_MS, elapsed_ms)] += 1
        self.total_ms += elapsed_ms


class ServerMetrics:
    """What one server counts."""

    __slots__ = ("bytes_in", "bytes_out", "connections", "latencies", "name", "rejected")

    def __init__(self, name: str) -> None:
        self.name = name
        self.latencies: dict[str, Latency] = {}
        self.bytes_in = 0
        self.bytes_out = 0
        self.connections = 0
        self.rejected = 0

    def latency(self, api: str) -> Latency:
        found = self.latencies.get(api)
        if found is None:
            found = self.latencies[api] = Latency()
        return found


class Metrics(Collector):
    """One per process: the registry that /metrics serves, and the counters of all its servers."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self._servers: dict[str, ServerMetrics] = {}

    def server(self, name: str) -> ServerMetrics:
        """The counters of the server with this name (a service that starts again goes on counting)."""
        return self._servers.setdefault(name, ServerMetrics(name))

    def collect(self) -> Iterable[Metric]:
        latency = HistogramMetricFamily(
            "millstream_request_seconds", "Time from a request's arrival to its reply.", labels=["server", "api"]
        )
        received = CounterMetricFamily("millstream_received_bytes", "Bytes of requests.", labels=["server"])
        sent = CounterMetricFamily("millstream_sent_bytes", "Bytes of replies.", labels=["server"])
        rejected = CounterMetricFamily(
            "millstream_rejected_requests", "Frames that closed their connection.", labels=["server"]
        )
        connections = GaugeMetricFamily("millstream_connections", "Open connections.", labels=["server"])
        for server in self._servers.values():
            received.add_metric([server.name], server.bytes_in)
            sent.add_metric([server.name], server.bytes_out)
            rejected.add_metric([server.name], server.rejected)
            connections.add_metric([server.name], server.connections)
            for api, values in server.latencies.items():
                latency.add_metric([server.name, api], _buckets(values), values.total_ms / 1000)
        return [latency, received, sent, rejected, connections]


def _buckets(latency: Latency) -> list[tuple[str, float]]:
    buckets: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip(BUCKETS_MS, latency.counts, strict=False):
        total += count
        buckets.append((str(bound / 1000), float(total)))
    buckets.append(("+Inf", float(total + latency.counts[-1])))
    return buckets
