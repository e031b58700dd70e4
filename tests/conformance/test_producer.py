"""The producer's promises at their edges: bounded memory, refusals, expiry, identities that end."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import servers

from millstream_client import (
    Cluster,
    Consumer,
    Delivered,
    Expired,
    InvalidData,
    Producer,
    ProducerConfig,
    Refused,
    TopicPartition,
    open_cluster,
)
from millstream_client.admin import Resource, ResourceType, alter_settings, create_topic, delete_topics
from millstream_client.offsets import LATEST, find_offsets

TIMEOUT_MS = 40_000


def run(bootstrap: str, work: Callable[[Cluster], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with open_cluster(bootstrap) as cluster:
            await work(cluster)

    asyncio.run(main())


async def everything(cluster: Cluster, topic: str, count: int) -> list[bytes]:
    seen: list[bytes] = []
    async with Consumer(cluster, [topic]) as consumer:
        while len(seen) < count:
            messages = await consumer.poll(timeout_ms=TIMEOUT_MS)
            assert messages, f"{len(seen)} of {count} came"
            seen += [message.value for message in messages]
    return seen


def test_what_is_not_acknowledged_is_bounded(anywhere: str, topic: str) -> None:
    async def work(cluster: Cluster) -> None:
        await create_topic(cluster, topic, partitions=2)
        waiting: list[asyncio.Future[Delivered]] = []
        async with Producer(cluster, ProducerConfig(buffer_bytes=20_000, batch_bytes=5_000)) as producer:
            for n in range(500):
                waiting.append(await producer.send(topic, b"%04d" % n + b"x" * 1000))
                assert sum(not each.done() for each in waiting) <= 20
            with pytest.raises(InvalidData, match="does not fit"):
                await producer.send(topic, b"x" * 20_000)
        assert sorted(await everything(cluster, topic, 500)) == [b"%04d" % n + b"x" * 1000 for n in range(500)]

    run(anywhere, work)


def test_a_refused_record_does_not_hold_up_the_others(anywhere: str, topic: str) -> None:
    async def work(cluster: Cluster) -> None:
        await create_topic(cluster, topic, partitions=1, configs={"max.message.bytes": "2000"})
        async with Producer(cluster) as producer:
            small = await producer.send(topic, b"small")
            await producer.flush()
            large = await producer.send(topic, b"x" * 5000)
            await producer.flush()
            after = [await producer.send(topic, b"after %d" % n) for n in range(3)]
            await producer.flush()
            assert small.result().offset == 0
            with pytest.raises(Refused, match="MESSAGE_TOO_LARGE"):
                large.result()
            assert [each.result().offset for each in after] == [1, 2, 3]

    run(anywhere, work)


def test_a_partition_that_is_not_there(anywhere: str, topic: str) -> None:
    async def work(cluster: Cluster) -> None:
        await create_topic(cluster, topic, partitions=1)
        async with Producer(cluster) as producer:
            lost = await producer.send(topic, b"v", partition=7)
            kept = await producer.send(topic, b"v", partition=0)
            await producer.flush()
            assert (await kept).offset == 0
            with pytest.raises(Refused, match=f"{topic}-7: UNKNOWN_TOPIC_OR_PARTITION"):
                await lost

    run(anywhere, work)


def test_a_topic_made_anew_is_written_to(anywhere: str, topic: str) -> None:
    """Its id, leader epoch and producer state are other ones; the client notices by the answers alone."""

    async def work(cluster: Cluster) -> None:
        await create_topic(cluster, topic, partitions=1)
        async with Producer(cluster) as producer:
            await (await producer.send(topic, b"old"))
            async with open_cluster(anywhere) as somebody_else:
                await delete_topics(somebody_else, [topic])
                await until_made(somebody_else, topic)
            await (await producer.send(topic, b"new"))
        assert await everything(cluster, topic, 1) == [b"new"]

    run(anywhere, work)


async def until_made(cluster: Cluster, topic: str) -> None:
    for _ in range(100):
        with contextlib.suppress(Refused):
            await create_topic(cluster, topic, partitions=1)
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the topic was not deleted in time")


def test_a_topic_appears_when_it_is_written_to(anywhere: str, topic: str) -> None:
    async def work(cluster: Cluster) -> None:
        async with Producer(cluster) as producer:
            delivered = await (await producer.send(topic, b"v"))
        assert delivered.offset == 0

    run(anywhere, work)


def test_compacted_topics_want_keys(anywhere: str, topic: str) -> None:
    async def work(cluster: Cluster) -> None:
        await create_topic(cluster, topic, partitions=1)
        await alter_settings(cluster, Resource(ResourceType.TOPIC, topic), changed={"cleanup.policy": "compact"})
        await asyncio.sleep(1)
        async with Producer(cluster) as producer:
            without = await producer.send(topic, b"v")
            await producer.flush()
            assert isinstance(without.exception(), Refused)
            assert (await (await producer.send(topic, b"v", key=b"k"))).offset == 0

    run(anywhere, work)


def test_what_cannot_be_delivered_in_time_expires(fresh: Path, topic: str) -> None:
    with servers.node(fresh) as node:

        async def work(cluster: Cluster) -> None:
            await create_topic(cluster, topic, partitions=1)
            config = ProducerConfig(delivery_timeout_ms=2_000, request_timeout_ms=1_000)
            async with Producer(cluster, config) as producer:
                await (await producer.send(topic, b"in time"))
                node.kill()
                lost = await producer.send(topic, b"too late")
                with pytest.raises(Expired, match="not acknowledged in 2000 ms"):
                    await lost
                await asyncio.to_thread(node.start)
                again = await asyncio.wait_for(await producer.send(topic, b"again"), 30)
                assert again.offset >= 1
            partition = TopicPartition(topic, 0)
            assert (await find_offsets(cluster, {partition: LATEST}))[partition] == again.offset + 1

        run(node.bootstrap, work)
