"""Which replica a consumer reads from: its leader, or one that is closer to the consumer (KIP-392).

Closer is: in the consumer's rack. Only who is in sync is chosen. Another one may never get to what the consumer wants next, and the
leader would send the consumer there again and again.
"""

from collections.abc import Callable
from typing import Final

from millstream_broker.core.partition.standing import Partition
from millstream_cluster.ids import NO_NODE

RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def closest_follower(
    partition: Partition, offset: int, rack: str, *, leader_rack: str | None, rack_of: Callable[[int], str | None]
) -> int:
    """The follower that who reads at `offset` should ask, as the partition's leader knows; NO_NODE: the leader itself.

    `rack_of` is None of nodes that clients cannot reach now. Of several followers that serve it is the most caught up.
    """
    if not rack or rack == leader_rack:
        return NO_NODE
    found = []
    for node in partition.isr:
        progress = partition.follower(node)
        if progress is None or not progress.log_start_offset <= offset <= progress.end_offset:
            continue
        if rack_of(node) == rack:
            found.append((progress.end_offset, progress.caught_up_ms, node))
    return max(found)[2] if found else NO_NODE
