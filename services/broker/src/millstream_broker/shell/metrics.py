"""What the broker counts for Prometheus beside what its server does: partitions, sizes, bytes appended and fetched."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millstream_broker.shell.replicas import Replicas


class BrokerMetrics(Collector):
    """Plain integers, turned into samples when somebody asks."""

    def __init__(self, node_id: int, replicas: Replicas) -> None:
        self._labels = [str(node_id)]
        self._replicas = replicas
        self.appended_bytes = 0
        self.fetched_bytes = 0
        self.appended_batches = 0

    def collect(self) -> Iterable[Metric]:
        replicas = list(self._replicas)
        leads = sum(replica.partition.leads for replica in replicas)
        yield self._gauge("millstream_partitions", "Partitions with a log on this broker.", len(replicas))
        yield self._gauge("millstream_leader_partitions", "Partitions this broker leads.", leads)
        size = sum(replica.log.size for replica in replicas)
        yield self._gauge("millstream_log_size_bytes", "Bytes in the logs of this broker.", size)
        yield self._counter("millstream_appended_bytes", "Bytes of record batches appended.", self.appended_bytes)
        yield self._counter("millstream_appended_batches", "Record batches appended.", self.appended_batches)
        yield self._counter("millstream_fetched_bytes", "Bytes of record batches fetched.", self.fetched_bytes)

    def _gauge(self, name: str, doc: str, value: float) -> Metric:
        family = GaugeMetricFamily(name, doc, labels=["broker"])
        family.add_metric(self._labels, value)
        return family

    def _counter(self, name: str, doc: str, value: float) -> Metric:
        family = CounterMetricFamily(name, doc, labels=["broker"])
        family.add_metric(self._labels, value)
        return family
