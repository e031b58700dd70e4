"""Why a broker left an ISR or no longer leads: the log says it a little later, where it says what became of the broker.

A broker's partitions are changed before the broker is fenced (or registered anew, or loses a directory), in the same decision or a few of
them; only a broker that stops makes way while it still answers, so its fencing may come seconds later.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from millstream_cluster import records as r
from millstream_cluster.ids import NO_EPOCH

MAKES_WAY_MS = 60_000
"""How long before it is fenced a broker that stops may begin to make way."""
_TEXTS = {
    r.FenceReason.UNKNOWN: "is away",
    r.FenceReason.STOPPED: "stops",
    r.FenceReason.SILENT: "fell silent",
    r.FenceReason.DIED: "died: nobody listens at its port",
    r.FenceReason.NO_DIRECTORY: "has no directory left that works",
}

NodeRecord = r.NodeFenced | r.NodeRegistered | r.NodeUnregistered | r.NodeLogDirsChanged


def fenced_text(reason: r.FenceReason) -> str:
    return _TEXTS[reason]


class Departures:
    def __init__(self, entries: Sequence[tuple[int, r.MetadataRecord]]) -> None:
        self._times = [time_ms for time_ms, _ in entries]
        self._of_nodes: defaultdict[int, list[tuple[int, NodeRecord]]] = defaultdict(list)
        self._run_ends = [0] * len(entries)
        run_end = len(entries)
        for index in range(len(entries) - 1, -1, -1):
            record = entries[index][1]
            if not isinstance(record, r.PartitionChanged):
                run_end = index
            self._run_ends[index] = run_end
            if isinstance(record, NodeRecord):
                self._of_nodes[record.node_id].append((index, record))
        for found in self._of_nodes.values():
            found.reverse()

    def why(self, node_id: int, index: int) -> str:
        """What became of this node that explains the change at `index`; nothing if the node lives on as before."""
        found = self._of_nodes.get(node_id, ())
        place = bisect_right(found, index, key=lambda each: each[0])
        if place == len(found):
            return ""
        at, record = found[place]
        is_one_decision = at == self._run_ends[index]
        match record:
            case r.NodeFenced(reason=r.FenceReason.STOPPED) if self._times[at] - self._times[index] <= MAKES_WAY_MS:
                return f"broker {node_id} stops"
            case r.NodeFenced() if is_one_decision:
                return f"broker {node_id} {fenced_text(record.reason)}"
            case r.NodeRegistered() if is_one_decision and record.previous_epoch == NO_EPOCH:
                return f"broker {node_id} came back without having stopped cleanly"
            case r.NodeRegistered() if is_one_decision:
                return f"broker {node_id} came back"
            case r.NodeLogDirsChanged() if is_one_decision:
                return f"a directory of broker {node_id} failed"
            case r.NodeUnregistered() if is_one_decision:
                return f"broker {node_id} was unregistered"
            case _:
                return ""
