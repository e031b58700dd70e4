"""What the controller tells Prometheus: whether it is the active one, and the state of the cluster if it is."""

from collections.abc import Callable, Iterable

from millstream_controller.core.failed_directories import failed_of
from millstream_controller.shell.active import Active
from millstream_runtime.exposition import Family, gauge


class ControllerMetrics:
    """Counted when somebody asks; a standby knows only that it is one."""

    def __init__(self, active: Callable[[], Active | None]) -> None:
        self._active = active

    def collect(self) -> Iterable[Family]:
        active = self._active()
        yield gauge("millstream_active_controller", "1 on the active controller.", int(active is not None))
        if active is None:
            return
        image = active.log.image
        partitions = list(image.partitions())
        nodes = image.nodes.values()
        yield gauge("millstream_controller_epoch", "The active controller's epoch.", active.epoch)
        yield gauge("millstream_metadata_offset", "The last committed metadata record.", image.offset)
        yield gauge("millstream_topics", "Topics in the cluster.", len(image.topics))
        yield gauge("millstream_cluster_partitions", "Partitions in the cluster.", len(partitions))
        offline = sum(not partition.online for partition in partitions)
        yield gauge("millstream_offline_partitions", "Partitions without a leader.", offline)
        moving = sum(bool(p.adding_replicas or p.removing_replicas) for p in partitions)
        yield gauge("millstream_reassigning_partitions", "Partitions whose replicas are on the move.", moving)
        few = sum(len(p.isr) < len(p.replicas) - len(p.removing_replicas) for p in partitions)
        yield gauge(
            "millstream_under_replicated_partitions",
            "Partitions with fewer replicas in sync than they should have.",
            few,
        )
        loss = active.loss
        failed = sum(len(failed_of(active.machine, node)) for node in image.brokers.values() if not node.fenced)
        yield gauge("millstream_failed_log_dirs", "Directories of live brokers that failed and had replicas.", failed)
        gone = "Brokers that have been away for so long that others take over their replicas."
        yield gauge("millstream_gone_brokers", gone, len(loss.gone))
        suspended = "1 while too many brokers are away for replicas to be made again on the others."
        yield gauge("millstream_broker_replacement_suspended", suspended, int(loss.suspended))
        yield gauge("millstream_live_nodes", "Registered nodes that are not fenced.", sum(not n.fenced for n in nodes))
        yield gauge("millstream_fenced_nodes", "Registered nodes that are fenced.", sum(n.fenced for n in nodes))
