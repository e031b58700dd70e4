"""When a move of replicas is complete: a pure rule over who is in sync."""

from millstream_cluster.ids import NodeId

Nodes = tuple[NodeId, ...]


def completed(
    replicas: Nodes, adding: Nodes, removing: Nodes, isr: Nodes, *, min_isr: int
) -> tuple[Nodes, Nodes] | None:
    """The replicas and the ISR that remain once the move ends; None while it cannot.

    All who come have to be in sync, and those who stay have to be enough without those who go: a copy that is given up is
    neither in the ISR nor in the ELR any more.
    """
    staying = tuple(node for node in replicas if node not in removing)
    remaining = tuple(node for node in isr if node not in removing)
    enough = max(1, min(min_isr, len(staying)))
    if not set(adding) <= set(remaining) or len(remaining) < enough:
        return None
    return staying, remaining
