"""What a test asks of its cluster, answered by our own client in the cluster's thread."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from millstream.testing.record import Lag, Record
from millstream_client import (
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    Cluster,
    Consumer,
    ConsumerConfig,
    FetchConfig,
    Producer,
    ProducerConfig,
    Refused,
    TopicPartition,
    parse_bootstrap,
)
from millstream_client.admin import create_topic
from millstream_client.cluster import Backoff
from millstream_client.credentials import credentials_of
from millstream_client.groups import describe_group, lags_of, list_groups
from millstream_client.metadata import NO_LEADER
from millstream_client.offsets import find_offsets
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode

LOOK_MS = 100
READ_TIMEOUT_MS = 30_000
VISIBLE_TIMEOUT_MS = 15_000


class Questions:
    """One connection to each node, opened when something is asked."""

    def __init__(self, world: World, bootstrap: str, properties: Mapping[str, str]) -> None:
        """`world`: with the cluster's clock, by which records are stamped."""
        self._cluster = Cluster(
            world,
            parse_bootstrap(bootstrap),
            client_id="millstream-testing",
            credentials=credentials_of(properties),
        )

    async def close(self) -> None:
        await self._cluster.close()

    async def create_topic(
        self, name: str, *, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        """Until every broker has heard of it: the next line of the test may use any of them."""
        cluster = self._cluster
        await create_topic(cluster, name, partitions=partitions, replication_factor=replication_factor, configs=configs)
        deadline_ms = cluster.world.monotonic_ms() + VISIBLE_TIMEOUT_MS
        backoff = Backoff()
        while True:
            topic = (await cluster.describe([name])).topics.get(name)
            if topic is not None and all(each.leader_id != NO_LEADER for each in topic.partitions):
                return
            if cluster.world.monotonic_ms() > deadline_ms:
                raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, "it was created", subject=f"topic {name}")
            await backoff.wait()

    async def produce(self, topic: str, records: Sequence[Record]) -> list[int]:
        """Their offsets, once they are acknowledged by all replicas in sync."""
        await self._cluster.topic(topic, create=True)
        async with Producer(self._cluster, ProducerConfig(linger_ms=0)) as producer:
            sent = [
                await producer.send(
                    topic,
                    each.value,
                    key=each.key,
                    headers=each.headers,
                    partition=each.partition if each.partition >= 0 else None,
                    timestamp_ms=each.timestamp_ms if each.timestamp_ms >= 0 else None,
                )
                for each in records
            ]
            await producer.flush()
            return [(await each).offset for each in sent]

    async def produced(self, topic: str) -> list[Record]:
        """Every committed record that is there now, by partition and offset; none if there is no such topic."""
        try:
            described = await self._cluster.topic(topic)
        except Refused as error:
            if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                return []
            raise
        partitions = [TopicPartition(topic, each.index) for each in described.partitions]
        ends = await find_offsets(self._cluster, dict.fromkeys(partitions, LATEST), isolation_level=READ_COMMITTED)
        firsts = await find_offsets(self._cluster, dict.fromkeys(partitions, EARLIEST))
        found: list[Record] = []
        config = ConsumerConfig(fetch=FetchConfig(isolation_level=READ_COMMITTED, reset_to=EARLIEST))
        deadline_ms = self._cluster.world.monotonic_ms() + READ_TIMEOUT_MS
        async with AsyncExitStack() as stack:
            if any(firsts[each] < ends[each] for each in partitions):
                consumer = await stack.enter_async_context(Consumer(self._cluster, [topic], config))
                while any(consumer.positions.get(each, 0) < ends[each] for each in partitions):
                    for message in await consumer.poll(timeout_ms=LOOK_MS):
                        if message.offset < ends[TopicPartition(topic, message.partition)]:
                            found.append(
                                Record(
                                    message.value,
                                    message.key,
                                    message.headers,
                                    message.partition,
                                    message.offset,
                                    message.timestamp_ms,
                                )
                            )
                    if self._cluster.world.monotonic_ms() > deadline_ms:
                        raise TimeoutError(f"{topic} was not read within {READ_TIMEOUT_MS // 1000} s")
        return sorted(found, key=lambda each: (each.partition, each.offset))

    async def lags(self, group_id: str) -> list[Lag] | None:
        """None if there is no such group."""
        try:
            group = await describe_group(self._cluster, group_id)
        except Refused as error:
            if error.code is ErrorCode.GROUP_ID_NOT_FOUND:
                return None
            raise
        return [
            Lag(each.topic, each.partition, each.committed, each.end, each.lag)
            for each in await lags_of(self._cluster, group)
        ]

    async def now_ms(self) -> int:
        return self._cluster.world.now_ms()

    async def groups(self) -> dict[str, str]:
        """The state of each group."""
        return {each.group_id: each.state for each in await list_groups(self._cluster)}

    async def members(self, group_id: str) -> list[str]:
        return [each.member_id for each in (await describe_group(self._cluster, group_id)).members]

    async def coordinator_of(self, group_id: str) -> int:
        """The number of the node whose coordinator has the group."""
        return (await describe_group(self._cluster, group_id)).coordinator

    async def leader_of(self, topic: str, partition: int) -> int:
        described = (await self._cluster.describe([topic])).topics[topic]
        return described.partitions[partition].leader_id
