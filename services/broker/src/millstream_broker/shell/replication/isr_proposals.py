"""Brings the ISRs that leaders here propose to the controller, and what came of them back to the leaders.

One AlterPartition at a time: what is proposed meanwhile goes with the next one, so that a thousand partitions cost the
controller one append. Who lags is looked for here as well, because only time passes when nobody fetches.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.partition.effects import ProposeIsr
from millstream_broker.core.partition.isr import IsrAnswer, Verdict, verdict_of
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.effects import perform
from millstream_runtime.nodes.client import ClientError
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterPartitionRequest, AlterPartitionResponse
from millstream_wire.messages.alter_partition import BrokerState, RequestPartitionData, RequestTopicData

logger = logging.getLogger(__name__)

TIMEOUT_MS: Final = 10_000
BACKOFF_FIRST_MS: Final = 50
BACKOFF_MAX_MS: Final = 1_000
LOOK_MAX_MS: Final = 500
"""Lags are looked for twice in the time that is allowed, but never less often than this."""
NOT_ANSWERED: Final = IsrAnswer(ErrorCode.REQUEST_TIMED_OUT)


class IsrProposals:
    def __init__(self, broker: Broker, broker_epoch: Callable[[], int]) -> None:
        self._world = broker.world
        self._controllers = broker.controllers.another()
        """An answer takes an append to the metadata: others' requests do not wait behind it."""
        self._partitions = broker.partitions
        self._delays = broker.delays
        self._metrics = broker.metrics
        self._node_id = broker.config.node_id
        self._broker_epoch = broker_epoch
        self._lag_max_ms = broker.config.replica_lag_time_max_ms

    async def run(self) -> None:
        """From when this broker registers."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._look_again_and_again())
                tasks.create_task(self._ask_again_and_again())
        finally:
            await self._controllers.close()

    # ---- who lags ----

    async def _look_again_and_again(self) -> None:
        interval_ms = max(1, min(self._lag_max_ms // 2, LOOK_MAX_MS))
        looked_ms = self._world.monotonic_ms()
        while True:
            await asyncio.sleep(interval_ms / 1000)
            now_ms = self._world.monotonic_ms()
            # After a pause of this process the fetches that came meanwhile are read first: they did not lag.
            is_late = now_ms - looked_ms > 2 * interval_ms
            looked_ms = now_ms
            if not is_late:
                self.look(now_ms)

    def look(self, now_ms: int) -> None:
        for hosted in self._partitions:
            partition = hosted.partition
            if partition.leads and len(partition.isr) > 1:
                perform(partition.on_tick(now_ms, self._lag_max_ms), hosted, self._delays)

    # ---- the controller ----

    async def _ask_again_and_again(self) -> None:
        backoff_ms = BACKOFF_FIRST_MS
        changes = self._partitions.isr_changes
        while True:
            await changes.wake.wait()
            if await self.ask():  # a refused proposal is made anew with the next fetch, which may be at once
                backoff_ms = BACKOFF_FIRST_MS
                continue
            await asyncio.sleep(backoff_ms * self._world.random.uniform(0.5, 1.0) / 1000)
            backoff_ms = min(2 * backoff_ms, BACKOFF_MAX_MS)

    async def ask(self) -> bool:
        """Ask for all that is proposed; False if some of it was not taken, and will be asked or proposed again."""
        asked = self._partitions.isr_changes.take()
        answers = await self._answers(asked)
        failed: Counter[ErrorCode] = Counter()
        for key, proposal in asked.items():
            answer = answers.get(key, NOT_ANSWERED)
            if answer.error_code is not ErrorCode.NONE:
                failed[answer.error_code] += 1
            self._tell(key, proposal, answer)
        for code, count in failed.items():
            logger.info("isr not changed partitions=%d error=%s", count, code.name)
        return all(verdict_of(code) is Verdict.OVERTAKEN for code in failed)

    def _tell(self, key: ReplicaKey, proposal: ProposeIsr, answer: IsrAnswer) -> None:
        hosted = self._partitions.find(*key)
        if hosted is None:
            return  # the partition is gone from here, and nobody waits for it
        if answer.error_code is ErrorCode.NONE:
            before = hosted.partition.isr
            self._metrics.isr_shrinks += len(proposal.isr) < len(before)
            self._metrics.isr_expands += len(proposal.isr) > len(before)
            logger.info("isr changed partition=%s isr=%s before=%s", hosted.name, list(answer.isr), list(before))
        perform(hosted.partition.on_isr_answered(proposal, answer), hosted, self._delays)

    async def _answers(self, asked: Mapping[ReplicaKey, ProposeIsr]) -> Mapping[ReplicaKey, IsrAnswer]:
        request = request_for(asked, node_id=self._node_id, broker_epoch=self._broker_epoch())
        try:
            answer = await self._controllers.request(request, timeout_ms=TIMEOUT_MS)
        except ClientError as error:
            logger.warning("isr not asked for partitions=%d reason=%s", len(asked), error)
            return {}
        assert isinstance(answer, AlterPartitionResponse)
        if answer.error_code != ErrorCode.NONE:
            return dict.fromkeys(asked, IsrAnswer(ErrorCode(answer.error_code)))
        return answers_in(answer)


def request_for(asked: Mapping[ReplicaKey, ProposeIsr], *, node_id: int, broker_epoch: int) -> AlterPartitionRequest:
    """Each member with the life that fetched; this broker itself with the one that asks."""
    topics: dict[UUID, RequestTopicData] = {}
    for (topic_id, index), proposal in asked.items():
        members = [
            BrokerState(
                broker_id=member.node_id,
                broker_epoch=broker_epoch if member.node_id == node_id else member.broker_epoch,
            )
            for member in proposal.isr
        ]
        topics.setdefault(topic_id, RequestTopicData(topic_id=topic_id)).partitions.append(
            RequestPartitionData(
                partition_index=index,
                leader_epoch=proposal.leader_epoch,
                new_isr_with_epochs=members,
                partition_epoch=proposal.partition_epoch,
                resigns=proposal.resigns,
            )
        )
    return AlterPartitionRequest(broker_id=node_id, broker_epoch=broker_epoch, topics=list(topics.values()))


def answers_in(response: AlterPartitionResponse) -> dict[ReplicaKey, IsrAnswer]:
    return {
        (topic.topic_id, partition.partition_index): IsrAnswer(
            ErrorCode(partition.error_code), tuple(partition.isr), partition.leader_epoch, partition.partition_epoch
        )
        for topic in response.topics
        for partition in topic.partitions
    }
