"""Where to go instead (KIP-951): the leader of a partition that is not led here, for clients that understand the hint."""

from collections.abc import Iterable
from uuid import UUID

from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_cluster.records import Endpoint
from millstream_wire.errors import ErrorCode

_MOVED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def leader_elsewhere(image: Image, topic: str | UUID, index: int, code: int) -> Partition | None:
    """The partition as the metadata has it, if `code` says that its leader is somebody else and there is one."""
    if code not in _MOVED:
        return None
    partition = image.partition(topic, index)
    return partition if partition is not None and partition.online else None


def endpoints(image: Image, leaders: Iterable[int], listener_name: str) -> list[tuple[int, Endpoint, str | None]]:
    """(node id, endpoint, rack) of each leader."""
    found = []
    for leader in dict.fromkeys(leaders):
        node = image.node(leader)
        endpoint = node.endpoint(listener_name) if node is not None else None
        if node is not None and endpoint is not None:
            found.append((leader, endpoint, node.rack))
    return found
