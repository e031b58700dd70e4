"""When a reassignment is complete: every replica of its target is in sync, and those that leave may go.

Until then a new copy counts for nothing but what it is in the ISR for, and whoever leaves keeps what it has. The record that
ends a reassignment is the only one that takes replicas out.
"""

from millstream_cluster.ids import NodeId

Nodes = tuple[NodeId, ...]


def completed(replicas: Nodes, adding: Nodes, removing: Nodes, isr: Nodes) -> tuple[Nodes, Nodes] | None:
    """Replicas and ISR with which a reassignment ends; None while there is none, or it cannot end yet.

    The target is in sync as a whole, so it is never fewer than min.insync.replicas asks for of that many replicas.
    """
    if not adding and not removing:
        return None
    target = tuple(node for node in replicas if node not in removing)
    in_sync = tuple(node for node in isr if node not in removing)
    return (target, in_sync) if target and set(target) <= set(in_sync) else None
