"""Somebody who has replicas moved from one data directory of their broker to another while everything else goes wrong (KIP-113).

The promise: nobody loses anything by it, which others judge, and in the end none is still on its way.
"""

import asyncio
import random
from collections.abc import Sequence

from millstream_runtime.nodes.client import ClientError, Nodes
from millstream_simulation.client import TIMEOUT_MS
from millstream_simulation.stage import SETTLE_S, Stage
from millstream_simulation.story import Violation
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterReplicaLogDirsRequest, DescribeLogDirsRequest
from millstream_wire.messages.alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirTopic
from millstream_wire.messages.describe_log_dirs import DescribeLogDirsResult

HOST = "mover"
PAUSE_S = (0.2, 3.0)
LOOK_S = 0.5


class MovedReplicas:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._random: random.Random = stage.random(HOST)

    async def run(self, until_s: float) -> None:
        nodes = Nodes(self._stage.world(HOST), client_id=HOST)
        while asyncio.get_running_loop().time() < until_s:
            await asyncio.sleep(self._random.uniform(*PAUSE_S))
            try:
                await self._move(nodes, self._random.choice(self._stage.brokers))
            except ClientError:
                continue
        await nodes.close()

    async def judge(self) -> None:
        nodes = Nodes(self._stage.world(f"{HOST}-judge"), client_id=HOST)
        try:
            async with asyncio.timeout(SETTLE_S):
                for broker in self._stage.brokers:
                    while on_their_way := await self._on_their_way(nodes, broker):  # noqa: ASYNC110
                        await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise Violation(f"still on their way to another directory: {on_their_way}") from None
        await nodes.close()

    async def _move(self, nodes: Nodes, broker: tuple[str, int]) -> None:
        """One replica, to any directory that works: also to where it is, or is on its way."""
        described = await self._described(nodes, broker)
        targets = [each.log_dir for each in described if each.error_code == ErrorCode.NONE]
        replicas = [
            (topic.name, partition.partition_index)
            for each in described
            for topic in each.topics
            for partition in topic.partitions
        ]
        if not targets or not replicas:
            return
        target, (topic, index) = self._random.choice(targets), self._random.choice(replicas)
        wanted = [AlterReplicaLogDir(path=target, topics=[AlterReplicaLogDirTopic(name=topic, partitions=[index])])]
        answer = await nodes.request(*broker, AlterReplicaLogDirsRequest(dirs=wanted), timeout_ms=TIMEOUT_MS)
        error = answer.results[0].partitions[0].error_code
        if error == ErrorCode.NONE:
            self._stage.story.note("replica sent to another directory")
        self._stage.story.add("replica sent", broker=broker[0], partition=f"{topic}-{index}", error=error)

    async def _on_their_way(self, nodes: Nodes, broker: tuple[str, int]) -> list[str]:
        try:
            described = await self._described(nodes, broker)
        except ClientError as error:
            return [str(error)]
        return [
            f"{topic.name}-{partition.partition_index} of {broker[0]}"
            for each in described
            for topic in each.topics
            for partition in topic.partitions
            if partition.is_future_key
        ]

    async def _described(self, nodes: Nodes, broker: tuple[str, int]) -> Sequence[DescribeLogDirsResult]:
        answer = await nodes.request(*broker, DescribeLogDirsRequest(topics=None), timeout_ms=TIMEOUT_MS)
        described: list[DescribeLogDirsResult] = answer.results
        return described
