"""aiokafka: read orders, write bills, and commit both in one transaction: whatever stops this program, each order is billed once.

pip install aiokafka
KAFKA=127.0.0.1:9092 python aiokafka_billing.py
"""

import asyncio
import os

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

KAFKA = os.environ.get("KAFKA", "127.0.0.1:9092")
ORDERS = os.environ.get("TOPIC", "billing-orders")
BILLS = f"{ORDERS}-bills"
GROUP = f"{ORDERS}-billing"
PRICE = 3


async def main() -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=KAFKA)
    await admin.start()
    await admin.create_topics([NewTopic(ORDERS, 1, 1), NewTopic(BILLS, 1, 1)])
    await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=KAFKA) as shop:
        for customer, apples in (("alice", 2), ("bob", 1), ("alice", 5)):
            await shop.send_and_wait(ORDERS, str(apples).encode(), key=customer.encode())
    await bill(count=3)
    async with AIOKafkaConsumer(
        BILLS, bootstrap_servers=KAFKA, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as bills:
        for _ in range(3):
            message = await bills.getone()
            print(message.key.decode(), message.value.decode())


async def bill(count: int) -> None:
    consumer = AIOKafkaConsumer(
        ORDERS, bootstrap_servers=KAFKA, group_id=GROUP, auto_offset_reset="earliest", enable_auto_commit=False
    )
    producer = AIOKafkaProducer(bootstrap_servers=KAFKA, transactional_id=f"{GROUP}-1")
    async with consumer, producer:
        done = 0
        while done < count:
            batches = await consumer.getmany(timeout_ms=1_000)
            if not batches:
                continue
            async with producer.transaction():
                ends: dict[TopicPartition, int] = {}
                for partition, messages in batches.items():
                    for message in messages:
                        amount = PRICE * int(message.value)
                        await producer.send(BILLS, str(amount).encode(), key=message.key)
                        done += 1
                    ends[partition] = messages[-1].offset + 1
                await producer.send_offsets_to_transaction(ends, GROUP)


if __name__ == "__main__":
    asyncio.run(main())
