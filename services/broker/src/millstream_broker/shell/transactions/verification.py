"""Asks a transaction's coordinator whether a partition is part of it, or makes it one, before its first batch there is taken (KIP-890).

Without that a batch that was long under way could begin a transaction that nobody will ever end. Producers of transactions
version 2 leave it to us to register what they write to. Requests of one producer that
come while another of its waits here wait behind it, so that their batches stay in order.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from millstream_broker.config import BrokerConfig
from millstream_cluster.ids import TRANSACTIONS_TOPIC, NodeId
from millstream_cluster.image import Image
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.nodes.owner import Owners
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from millstream_wire.messages.add_partitions_to_txn import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction

logger = logging.getLogger(__name__)

TopicPartition = tuple[str, int]
Answers = Mapping[TopicPartition, ErrorCode]

REQUEST_TIMEOUT_MS = 10_000

_Done = TypeVar("_Done")


class _Line:
    """The requests of one producer that wait; a lock is given to those who ask for it in the order in which they ask."""

    __slots__ = ("length", "turn")

    def __init__(self) -> None:
        self.length = 0
        self.turn = asyncio.Lock()


class Verification:
    def __init__(self, config: BrokerConfig, world: World, image: Callable[[], Image], interest: Interest) -> None:
        self._nodes = Nodes(
            world,
            client_id=f"broker-{config.node_id}",
            node_id=NodeId(config.node_id),
            credentials=config.security.nodes,
        )
        self._owners = Owners(self._nodes, image, interest)
        self._retry_backoff_ms = config.add_partitions_retry_backoff_ms
        self._retry_max_ms = config.add_partitions_retry_max_ms
        self._lines: dict[int, _Line] = {}

    def is_busy(self, producer_id: int) -> bool:
        """Whether a request of this producer waits: the next one has to wait behind it."""
        return producer_id in self._lines

    def in_turn(
        self, producer_id: int, work: Callable[[], Awaitable[_Done | Coroutine[Any, Any, _Done]]]
    ) -> asyncio.Task[_Done]:
        """Do the work when all that this producer had waiting before is done.

        What the work gives may be a coroutine for the rest of it, which holds nobody up.
        The place in the line is taken in this call, not when the task first runs: what comes in between would see nobody
        waiting, and overtake.
        """
        line = self._lines.setdefault(producer_id, _Line())
        line.length += 1
        is_in_line = True

        def leave() -> None:
            nonlocal is_in_line
            if is_in_line:
                is_in_line = False
                line.length -= 1
                if not line.length:
                    del self._lines[producer_id]

        async def wait() -> _Done:
            async with line.turn:
                done = await work()
            leave()
            return await done if isinstance(done, Coroutine) else done

        task = asyncio.get_running_loop().create_task(wait())
        task.add_done_callback(lambda _: leave())  # it may fail, or never have run
        return task

    async def verify(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition]
    ) -> Answers:
        """For each partition whether it is part of the producer's transaction, as its coordinator says."""
        return await self._register(transactional_id, producer_id, producer_epoch, partitions, verify_only=True)

    async def add(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition]
    ) -> Answers:
        """Have the partitions be part of the producer's transaction; for each how that went.

        While the one before it is still being ended, which takes a moment, that is tried again here.
        """
        wanted = list(partitions)
        patience_ms = self._retry_max_ms
        while True:
            answers = await self._register(transactional_id, producer_id, producer_epoch, wanted, verify_only=False)
            if patience_ms <= 0 or ErrorCode.CONCURRENT_TRANSACTIONS not in answers.values():
                return answers
            await asyncio.sleep(self._retry_backoff_ms / 1000)
            patience_ms -= self._retry_backoff_ms

    async def _register(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
        *,
        verify_only: bool,
    ) -> Answers:
        wanted = list(partitions)
        topics: dict[str, list[int]] = {}
        for topic, index in wanted:
            topics.setdefault(topic, []).append(index)
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            verify_only=verify_only,
            topics=[AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in topics.items()],
        )
        answer = await self._ask(transactional_id, AddPartitionsToTxnRequest(transactions=[transaction]))
        if isinstance(answer, ErrorCode):
            return dict.fromkeys(wanted, answer)
        found = {
            (topic.name, partition.partition_index): ErrorCode(partition.partition_error_code)
            for result in answer.results_by_transaction
            for topic in result.topic_results
            for partition in topic.results_by_partition
        }
        return {partition: found.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR) for partition in wanted}

    async def close(self) -> None:
        await self._nodes.close()

    async def _ask(
        self, transactional_id: str, request: AddPartitionsToTxnRequest
    ) -> AddPartitionsToTxnResponse | ErrorCode:
        owner = self._owners.of_key(TRANSACTIONS_TOPIC, transactional_id)
        answer = await self._owners.ask(owner, request, timeout_ms=REQUEST_TIMEOUT_MS)
        if isinstance(answer, ErrorCode):
            if answer is ErrorCode.NETWORK_EXCEPTION:
                logger.warning("transaction not verified transactional_id=%s error=%s", transactional_id, answer.name)
            return answer
        assert isinstance(answer, AddPartitionsToTxnResponse)
        return ErrorCode(answer.error_code) if answer.error_code else answer
