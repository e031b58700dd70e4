"""Writes the end of a transaction into every partition it reached, and does not stop before each has given a definite answer."""

import asyncio
import logging
import random

from millstream_cluster.ids import NodeId
from millstream_coordinator.core.group.partitions import TopicPartition
from millstream_coordinator.core.transactions.transaction import Transaction, TransactionState
from millstream_coordinator.shell.transactions.nodes import TransactionNodes
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.write_txn_markers import WritableTxnMarker

logger = logging.getLogger(__name__)

BACKOFF_FIRST_MS = 20
BACKOFF_MAX_MS = 1_000


class Markers:
    def __init__(self, nodes: TransactionNodes, random: random.Random) -> None:
        self._nodes = nodes
        self._random = random

    async def write(self, prepared: Transaction, coordinator_epoch: int) -> None:
        """Return once the end is in every partition that still exists."""
        left = set(prepared.partitions)
        attempt = 0
        while left:
            async with asyncio.TaskGroup() as tasks:
                for node_id, partitions in self._by_taker(left).items():
                    tasks.create_task(self._send(prepared, coordinator_epoch, node_id, partitions, left))
            left = {partition for partition in left if self._nodes.exists(partition)}
            if not left:
                return
            if attempt == 5:
                names = ",".join(f"{topic}-{index}" for topic, index in sorted(left)[:5])
                logger.warning(
                    "markers still to be written transactional_id=%s partitions=%d first=%s",
                    prepared.transactional_id,
                    len(left),
                    names,
                )
            delay_ms = min(BACKOFF_FIRST_MS << attempt, BACKOFF_MAX_MS) * self._random.uniform(0.5, 1.0)
            attempt = min(attempt + 1, 10)
            await asyncio.sleep(delay_ms / 1000)

    def _by_taker(self, partitions: set[TopicPartition]) -> dict[NodeId, list[TopicPartition]]:
        takers: dict[NodeId, list[TopicPartition]] = {}
        for partition in sorted(partitions):
            taker = self._nodes.taker(partition)
            if taker is not None:
                takers.setdefault(taker, []).append(partition)
        return takers

    async def _send(
        self,
        prepared: Transaction,
        coordinator_epoch: int,
        node_id: NodeId,
        partitions: list[TopicPartition],
        left: set[TopicPartition],
    ) -> None:
        """Have one node write its part; what it has, or will never take, is not left any more."""
        marker = WritableTxnMarker(
            producer_id=prepared.producer_id,
            producer_epoch=prepared.producer_epoch,
            transaction_result=prepared.state is TransactionState.PREPARE_COMMIT,
            coordinator_epoch=coordinator_epoch,
            transaction_version=prepared.client_version,
        )
        for partition, error in (await self._nodes.write_marker(marker, node_id, partitions)).items():
            match error:
                case ErrorCode.NONE:
                    left.discard(partition)
                case ErrorCode.INVALID_PRODUCER_EPOCH:
                    # A later epoch of the producer has been there, and nobody gets one before this transaction's end is
                    # everywhere: this marker had been written there before.
                    logger.warning("marker refused partition=%s-%d error=%s", *partition, error.name)
                    left.discard(partition)
                case _:
                    # One that knows a later coordinator too: if there is one, we are about to learn it from the metadata.
                    logger.debug("marker not written partition=%s-%d error=%s", *partition, error.name)
