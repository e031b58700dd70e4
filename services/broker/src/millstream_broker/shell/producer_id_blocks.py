"""Keeps blocks of producer ids at hand, fetched from the controller before the last one is used up."""

import asyncio
import logging
from collections.abc import Callable

from millstream_broker.config import BrokerConfig
from millstream_broker.core.producer_ids import ProducerIdBlock, ProducerIds
from millstream_runtime.nodes.client import ClientError
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse

logger = logging.getLogger(__name__)

RETRY_MS = 1_000


class ProducerIdBlocks:
    def __init__(self, config: BrokerConfig, controllers: ControllerLink) -> None:
        self._config = config
        self._controllers = controllers
        self._ids = ProducerIds()
        self._wake = asyncio.Event()
        self.stocked = asyncio.Event()
        """Set once there was a first block."""

    def take(self) -> int | None:
        """A producer id nobody else has; None while the controller owes us a block."""
        producer_id = self._ids.take()
        if self._ids.wants_block():
            self._wake.set()
        return producer_id

    def add(self, block: ProducerIdBlock) -> None:
        self._ids.add(block)
        self.stocked.set()

    async def run(self, broker_epoch: Callable[[], int]) -> None:
        """Fetch blocks; started once the broker is registered."""
        while True:
            while self._ids.wants_block():
                if not await self._fetch(broker_epoch()):
                    await asyncio.sleep(RETRY_MS / 1000)
            await self._wake.wait()
            self._wake.clear()

    async def _fetch(self, broker_epoch: int) -> bool:
        request = AllocateProducerIdsRequest(broker_id=self._config.node_id, broker_epoch=broker_epoch)
        try:
            answer = await self._controllers.request(request, timeout_ms=self._config.request_timeout_ms)
        except ClientError as error:
            logger.warning("no producer ids reason=%s", error)
            return False
        assert isinstance(answer, AllocateProducerIdsResponse)
        if answer.error_code != ErrorCode.NONE:
            logger.warning("no producer ids error=%s", ErrorCode(answer.error_code).name)
            return False
        start = answer.producer_id_start
        self.add(ProducerIdBlock(start, start + answer.producer_id_len))
        logger.info("producer ids received first=%d count=%d", start, answer.producer_id_len)
        return True
