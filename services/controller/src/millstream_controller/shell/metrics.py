"""What the controller tells Prometheus: whether it is the active one, and the state of the cluster if it is."""

from collections.abc import Callable, Iterable

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millstream_controller.shell.active import Active


class ControllerMetrics(Collector):
    """Counted when somebody asks; a standby knows only that it is one."""

    def __init__(self, active: Callable[[], Active | None]) -> None:
        self._active = active

    def collect(self) -> Iterable[Metric]:
        active = self._active()
        yield _gauge("millstream_active_controller", "1 on the active controller.", int(active is not None))
        if active is None:
            return
        image = active.log.image
        partitions = list(image.partitions())
        nodes = image.nodes.values()
        yield _gauge("millstream_controller_epoch", "The active controller's epoch.", active.epoch)
        yield _gauge("millstream_metadata_offset", "The last committed metadata record.", image.offset)
        yield _gauge("millstream_topics", "Topics in the cluster.", len(image.topics))
        yield _gauge("millstream_cluster_partitions", "Partitions in the cluster.", len(partitions))
        offline = sum(not partition.online for partition in partitions)
        yield _gauge("millstream_offline_partitions", "Partitions without a leader.", offline)
        yield _gauge("millstream_live_nodes", "Registered nodes that are not fenced.", sum(not n.fenced for n in nodes))
        yield _gauge("millstream_fenced_nodes", "Registered nodes that are fenced.", sum(n.fenced for n in nodes))


def _gauge(name: str, doc: str, value: float) -> Metric:
    return GaugeMetricFamily(name, doc, value=value)
