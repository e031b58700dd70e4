"""Somebody who asks a cluster for changes while everything else goes wrong: other leaders, other places, other numbers of replicas in sync.

Whether they are made nobody promises; that they lose nothing is judged by everybody else.
"""

import asyncio
import random
from collections.abc import Callable, Sequence

from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_runtime.nodes.client import ClientError, Nodes
from millstream_simulation.client import TIMEOUT_MS
from millstream_simulation.passing_topics import NAMES
from millstream_simulation.stage import Stage
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
)
from millstream_wire.messages.alter_partition_reassignments import ReassignablePartition, ReassignableTopic
from millstream_wire.messages.elect_leaders import TopicPartitions
from millstream_wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource

HOST = "administrator"
PAUSE_S = (0.5, 5.0)
PREFERRED = 0
TOPIC = 2
SET = 0
FACTOR_MIN, FACTOR_MAX = 2, 4
"""With fewer than two replicas a disk that fails takes what was acknowledged with it."""
THINKS_BETTER_S = (0.0, 0.1)


class Administrator:
    def __init__(self, stage: Stage, committed: Callable[[], Image]) -> None:
        """`committed`: the metadata, as far as it is committed by now."""
        self._stage = stage
        self._committed = committed
        self._random: random.Random = stage.random(HOST)

    async def run(self, until_s: float) -> None:
        nodes = Nodes(self._stage.world(HOST), client_id=HOST)
        while asyncio.get_running_loop().time() < until_s:
            await asyncio.sleep(self._random.uniform(*PAUSE_S))
            try:
                await self._random.choice((self._prefer, self._rely_on, self._move, self._move))(nodes, self._lasting())
            except ClientError:
                continue
        await nodes.close()

    async def judge(self) -> None:
        """There is nothing that it was promised."""

    async def _prefer(self, nodes: Nodes, partitions: Sequence[Partition]) -> None:
        """Have the first replicas lead, where they do not."""
        astray = [each for each in partitions if each.leader != each.replicas[0]]
        if not astray:
            return
        wanted = [TopicPartitions(topic=each.topic, partitions=[each.partition]) for each in astray]
        request = ElectLeadersRequest(election_type=PREFERRED, topic_partitions=wanted, timeout_ms=TIMEOUT_MS)
        answer = await nodes.request(*self._anybody(), request, timeout_ms=TIMEOUT_MS)
        elected = [
            result.partition_id
            for topic in answer.replica_election_results
            for result in topic.partition_result
            if result.error_code == ErrorCode.NONE
        ]
        if elected:
            self._stage.story.note("preferred leader elected")
        self._stage.story.add("preferred leaders asked for", partitions=len(astray), elected=len(elected))

    async def _rely_on(self, nodes: Nodes, partitions: Sequence[Partition]) -> None:
        """Another number of replicas that have to be in sync, for one topic."""
        if not partitions:
            return
        topic = self._random.choice(partitions).topic
        count = str(self._random.choice([1, 2, 2, 3]))
        config = AlterableConfig(name="min.insync.replicas", config_operation=SET, value=count)
        resource = AlterConfigsResource(resource_type=TOPIC, resource_name=topic, configs=[config])
        await nodes.request(
            *self._anybody(), IncrementalAlterConfigsRequest(resources=[resource]), timeout_ms=TIMEOUT_MS
        )
        self._stage.story.note("min.insync.replicas changed")
        self._stage.story.add("replicas relied on", topic=topic, count=count)

    async def _move(self, nodes: Nodes, partitions: Sequence[Partition]) -> None:
        """Have one partition's replicas somewhere else; as often as not somebody thinks better of it soon."""
        brokers = sorted(self._committed().brokers)
        if not partitions or len(brokers) < FACTOR_MIN:
            return
        moved, goes_back = self._random.choice(partitions), False
        while True:
            target = self._random.sample(brokers, self._random.randint(FACTOR_MIN, min(FACTOR_MAX, len(brokers))))
            await self._ask_to_move(nodes, moved, None if goes_back else [int(node) for node in target])
            if self._random.random() < 0.4:
                return
            await asyncio.sleep(self._random.uniform(*THINKS_BETTER_S))
            goes_back = self._random.random() < 0.5

    async def _ask_to_move(self, nodes: Nodes, moved: Partition, target: list[int] | None) -> None:
        """None: back to where it was."""
        wanted = ReassignablePartition(partition_index=moved.partition, replicas=target)
        topics = [ReassignableTopic(name=moved.topic, partitions=[wanted])]
        request = AlterPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=topics)
        answer = await nodes.request(*self._anybody(), request, timeout_ms=TIMEOUT_MS)
        errors = [each.error_code for topic in answer.responses for each in topic.partitions]
        name = f"{moved.topic}-{moved.partition}"
        self._stage.story.add("move asked for", partition=name, target=target, errors=[answer.error_code, *errors])

    def _anybody(self) -> tuple[str, int]:
        return self._random.choice(self._stage.brokers)

    def _lasting(self) -> list[Partition]:
        """Partitions of clients' topics, and not of those that come and go."""
        image = self._committed()
        topics = [topic for topic in image.topics.values() if not topic.internal and topic.name not in NAMES]
        return [partition for topic in topics for partition in topic.partitions]
