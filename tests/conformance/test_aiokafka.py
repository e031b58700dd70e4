"""aiokafka: the old, non-flexible versions, on asyncio."""

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

TIMEOUT_S = 40


async def create(bootstrap: str, topic: str, partitions: int) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, partitions, 1)])
    finally:
        await admin.close()


async def produce(bootstrap: str, topic: str, count: int) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", enable_idempotence=True, linger_ms=5)
    await producer.start()
    try:
        waiting = [await producer.send(topic, f"v{n}".encode(), key=str(n).encode()) for n in range(count)]
        await asyncio.gather(*waiting)
    finally:
        await producer.stop()


def member(bootstrap: str, topic: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=f"g-{topic}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=15_000,
        heartbeat_interval_ms=500,
    )


async def drain(reader: AIOKafkaConsumer, seen: list[bytes], count: int) -> None:
    while len(seen) < count:
        batches = await reader.getmany(timeout_ms=200)
        for records in batches.values():
            seen += [record.value for record in records]


def test_produce_and_consume_in_a_group_with_commits(bootstrap: str, topic: str) -> None:
    async def scenario() -> None:
        await create(bootstrap, topic, 3)
        await produce(bootstrap, topic, 1000)
        reader = member(bootstrap, topic)
        await reader.start()
        seen: list[bytes] = []
        await drain(reader, seen, 1000)
        await reader.commit()
        committed = [await reader.committed(TopicPartition(topic, p)) for p in range(3)]
        await reader.stop()
        assert sum(offset or 0 for offset in committed) == 1000
        assert sorted(seen) == sorted(f"v{n}".encode() for n in range(1000))

    asyncio.run(asyncio.wait_for(scenario(), TIMEOUT_S))


def test_three_members_split_and_one_may_leave(bootstrap: str, topic: str) -> None:
    async def scenario() -> None:
        await create(bootstrap, topic, 6)
        readers = [member(bootstrap, topic) for _ in range(3)]
        for reader in readers:
            await reader.start()

        async def balanced(members: list[AIOKafkaConsumer], each: int) -> None:
            while True:
                for reader in members:
                    await reader.getmany(timeout_ms=50)
                owned = [len(reader.assignment()) for reader in members]
                if owned == [each] * len(members):
                    return

        await balanced(readers, 2)
        await readers[0].stop()
        await balanced(readers[1:], 3)
        await produce(bootstrap, topic, 100)
        seen: list[bytes] = []
        async with asyncio.timeout(20):
            while len(seen) < 100:
                for reader in readers[1:]:
                    for records in (await reader.getmany(timeout_ms=100)).values():
                        seen += [record.value for record in records]
        for reader in readers[1:]:
            await reader.stop()
        assert len(seen) == 100

    asyncio.run(asyncio.wait_for(scenario(), 2 * TIMEOUT_S))
