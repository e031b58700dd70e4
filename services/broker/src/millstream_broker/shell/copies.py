"""Consumers and the copies of a partition (KIP-392): to which one its leader sends them, and what a follower cannot say yet."""

from millstream_broker.core.reads.replica_selection import closest_follower
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_wire.errors import ErrorCode


def closest(broker: Broker, replica: HostedPartition, offset: int, *, rack: str, listener_name: str) -> int:
    """Whom a consumer in this rack should ask instead of this broker, which leads; NO_NODE: nobody."""
    image = broker.image

    def rack_of(node_id: int) -> str | None:
        node = image.node(node_id)
        is_reached = node is not None and not node.fenced and node.endpoint(listener_name) is not None
        return node.rack if node is not None and is_reached else None

    return closest_follower(replica.partition, offset, rack, leader_rack=broker.config.rack, rack_of=rack_of)


def not_here_yet(replica: HostedPartition, offset: int) -> ErrorCode:
    """OFFSET_NOT_AVAILABLE where the leader has committed what this copy lacks: out of range it is only beyond that."""
    is_committed = replica.log.log_end_offset < offset <= replica.leader_high_watermark
    return ErrorCode.OFFSET_NOT_AVAILABLE if is_committed else ErrorCode.NONE
