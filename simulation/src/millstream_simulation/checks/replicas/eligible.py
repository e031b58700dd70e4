"""Who is in sync or eligible has all that is committed, and they stay as many as a commit asks for (KIP-966).

Once they are so many they are fewer only where a broker may have lost what it had: it was registered without a proof that its last life
ended cleanly, or its copy is gone.
"""

from collections.abc import Callable

from millstream_cluster import records as r
from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_simulation.story import Violation

MIN_ISR = "min.insync.replicas"


class EligibleReplicas:
    def __init__(self, min_isr: int, has_lost: Callable[[int, r.PartitionChanged], bool]) -> None:
        """`min_isr`: of topics that do not say; `has_lost`: whether a broker's disk has lost its copy."""
        self._min_isr = min_isr
        self._has_lost = has_lost
        self._unexplained: dict[int, str] = {}
        """Brokers that have left, and what: in the same decision they must have been registered."""

    def on_committed(self, image: Image, record: r.MetadataRecord) -> None:
        """`record` is new in the committed log, and `image` is from before it."""
        match record:
            case r.PartitionChanged():
                before = image.partition(record.topic_id, record.partition)
                if before is not None and len(record.replicas) > 1:
                    self._judge(image, before, record)
            case r.NodeRegistered():
                self._unexplained.pop(record.node_id, None)
                self._expect_explained()
            case r.ConfigChanged(key=key) if key == MIN_ISR:
                self._unexplained.clear()  # with fewer in sync nobody else is needed; that is decided together
            case _:
                self._expect_explained()

    def _judge(self, image: Image, before: Partition, record: r.PartitionChanged) -> None:
        own = image.config(r.ResourceType.TOPIC, before.topic).get(MIN_ISR)
        needed = min(self._min_isr if own is None else int(own), len(record.replicas))
        had, left = _eligible(before), _eligible(record)
        if len(had) < needed or len(left) >= needed:
            return
        if record.leader_recovery_state is r.LeaderRecoveryState.RECOVERING:
            return
        for node_id in had - left:
            if not self._has_lost(node_id, record):
                name = f"{before.topic}-{before.partition}"
                self._unexplained[node_id] = f"{name} was on {sorted(had)}, of which {sorted(left)} may be elected now"

    def _expect_explained(self) -> None:
        if self._unexplained:
            node_id, what = next(iter(self._unexplained.items()))
            raise Violation(f"{what}, and broker {node_id} has lost nothing")


def _eligible(partition: Partition | r.PartitionChanged) -> set[int]:
    return {*partition.isr, *partition.eligible_leader_replicas}
