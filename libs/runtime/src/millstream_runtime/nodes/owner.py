"""Asks whoever owns a shard or leads a partition, by the metadata of the moment; that may be out of date, so who asks asks again.

Each attempt is bounded by its timeout, ends when the node is fenced, and may be cancelled. How long to go on belongs to who asks: what may pass differs.
"""

import logging
from collections.abc import Callable
from typing import Any

from millstream_cluster.image import Image
from millstream_cluster.shard import shard_of
from millstream_runtime.nodes.client import ClientError, Nodes
from millstream_runtime.nodes.interest import Interest, NoLonger
from millstream_wire.errors import ErrorCode
from millstream_wire.schema import Request, Response

logger = logging.getLogger(__name__)


class Owners:
    def __init__(self, nodes: Nodes, image: Callable[[], Image], interest: Interest) -> None:
        """`interest` is told of each change of the metadata."""
        self._nodes = nodes
        self._image = image
        self._interest = interest

    def of_key(self, topic: str, key: str) -> int | None:
        """The coordinator whose shard of this topic keeps the key; None if there is no such shard or nobody has it."""
        found = self._image().topic(topic)
        if found is None or not found.partitions:
            return None
        return self.of_partition(topic, shard_of(key, len(found.partitions)))

    def of_partition(self, topic: str, partition: int) -> int | None:
        """The coordinator whose shard this partition is."""
        shard = self._image().shard(topic, partition)
        return shard.coordinator_id if shard is not None else None

    async def ask(self, node_id: int | None, request: Request[Any], *, timeout_ms: int) -> Response | ErrorCode:
        """The node's answer; COORDINATOR_NOT_AVAILABLE if there is no such live node, NETWORK_EXCEPTION if it is silent."""
        node = self._image().node(node_id) if node_id is not None else None
        endpoint = node.endpoint("") if node is not None and not node.fenced else None
        if endpoint is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert node is not None
        epoch = node.epoch
        try:
            async with self._interest.only_while(lambda: self._lives(node_id, epoch)):
                answer = await self._nodes.request(endpoint.host, endpoint.port, request, timeout_ms=timeout_ms)
        except (ClientError, NoLonger) as error:
            logger.debug("no answer node=%d reason=%r", node_id, error)
            return ErrorCode.NETWORK_EXCEPTION
        assert isinstance(answer, Response)
        return answer

    def _lives(self, node_id: int | None, epoch: int) -> bool:
        node = self._image().node(node_id) if node_id is not None else None
        return node is not None and node.epoch == epoch and not node.fenced
