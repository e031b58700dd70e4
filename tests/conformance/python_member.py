"""A member of a group by a Python client, that tells in JSON what it has and what it read, as Kafka's VerifiableConsumer does.

    python_member.py LIBRARY PROTOCOL ASSIGNOR BOOTSTRAP TOPIC GROUP [INSTANCE]

With an instance id it is a static member. What it cannot go on after ends it, and is on its standard error.
SIGTERM: it leaves as clients do. SIGUSR1: it lives on but does not poll, until it gets the signal again.
"""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Iterable
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ConfluentPartition

SESSION_MS = 8_000
POLL_INTERVAL_MS = 9_000
STATIC_SESSION_MS = 120_000
"""A static member may take its time to come back."""
HEARTBEAT_MS = 500
NAP_S = 0.1
BATCH = 50
ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


FATAL = (KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID, 111)
"""The last is UNRELEASED_INSTANCE_ID."""


class Orders:
    """What signals told it to do; and what it was told that it cannot go on after."""

    def __init__(self) -> None:
        self.is_over = self.sleeps = False
        self.failure: KafkaError | None = None
        signal.signal(signal.SIGTERM, lambda *_: self._end())
        signal.signal(signal.SIGUSR1, lambda *_: self._turn())

    def _end(self) -> None:
        self.is_over = True

    def fail(self, error: KafkaError) -> None:
        if error.fatal() or error.code() in FATAL:
            self.failure = error

    def _turn(self) -> None:
        self.sleeps = not self.sleeps


def tell(name: str, **what: Any) -> None:
    print(json.dumps({"name": name, "timestamp": int(time.time() * 1000), **what}), flush=True)


def tell_partitions(name: str, partitions: Iterable[Any]) -> None:
    tell(name, partitions=[{"topic": each.topic, "partition": each.partition} for each in partitions])


def tell_records(read: Iterable[tuple[str, int, int]]) -> dict[tuple[str, int], int]:
    """Of topic, partition and offset of each record; where to go on in each partition."""
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    for topic, partition, offset in read:
        first, _ = spans.get((topic, partition), (offset, offset))
        spans[topic, partition] = first, offset
    partitions = [
        {"topic": topic, "partition": partition, "minOffset": first, "maxOffset": last}
        for (topic, partition), (first, last) in spans.items()
    ]
    tell("records_consumed", partitions=partitions)
    return {partition: last + 1 for partition, (_, last) in spans.items()}


def run_confluent(protocol: str, assignor: str, bootstrap: str, topic: str, group: str, instance: str | None) -> None:
    config: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "max.poll.interval.ms": POLL_INTERVAL_MS,
    }
    session_ms = SESSION_MS
    if instance is not None:
        config |= {"group.instance.id": instance, "max.poll.interval.ms": STATIC_SESSION_MS}
        session_ms = STATIC_SESSION_MS
    if protocol == "consumer":
        config["group.remote.assignor"] = assignor
    else:
        config["partition.assignment.strategy"] = assignor
        config |= {"session.timeout.ms": session_ms, "heartbeat.interval.ms": HEARTBEAT_MS}
    orders = Orders()
    consumer = Consumer(config | {"error_cb": orders.fail})
    consumer.subscribe(
        [topic],
        on_assign=lambda _, partitions: tell_partitions("partitions_assigned", partitions),
        on_revoke=lambda _, partitions: tell_partitions("partitions_revoked", partitions),
        on_lost=lambda _, partitions: tell_partitions("partitions_lost", partitions),
    )
    while not orders.is_over:
        if orders.sleeps:
            time.sleep(NAP_S)
            continue
        records = []
        for each in consumer.consume(BATCH, 0.1):
            error = each.error()
            if error is None:
                records.append(each)
            else:
                orders.fail(error)
        if orders.failure is not None:
            raise KafkaException(orders.failure)
        if not records:
            continue
        ends = tell_records((each.topic(), each.partition(), each.offset()) for each in records)
        offsets = [ConfluentPartition(name, partition, end) for (name, partition), end in ends.items()]
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            orders.fail(error.args[0])
            tell("commit_failed", error=str(error))
    consumer.close()


class Told(ConsumerRebalanceListener):  # type: ignore[misc]
    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        tell_partitions("partitions_assigned", assigned)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        tell_partitions("partitions_revoked", revoked)


async def run_aiokafka(assignor: str, bootstrap: str, topic: str, group: str, instance: str | None) -> None:
    orders = Orders()
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        partition_assignment_strategy=(ASSIGNORS[assignor],),
        group_instance_id=instance,
        session_timeout_ms=SESSION_MS if instance is None else STATIC_SESSION_MS,
        max_poll_interval_ms=POLL_INTERVAL_MS if instance is None else STATIC_SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
    )
    await consumer.start()
    consumer.subscribe([topic], listener=Told())
    while not orders.is_over:
        if orders.sleeps:
            await asyncio.sleep(NAP_S)
            continue
        found = await consumer.getmany(timeout_ms=100, max_records=BATCH)
        records = [(each.topic, each.partition, each.offset) for batch in found.values() for each in batch]
        if not records:
            continue
        ends = tell_records(records)
        try:
            await consumer.commit({TopicPartition(*partition): end for partition, end in ends.items()})
        except AioKafkaError as error:
            tell("commit_failed", error=repr(error))
    tell_partitions("partitions_revoked", consumer.assignment())  # it does not say so itself when it is stopped
    await consumer.stop()


def main() -> None:
    library, protocol, assignor, bootstrap, topic, group, *rest = sys.argv[1:]
    instance = rest[0] if rest else None
    if library == "aiokafka":
        asyncio.run(run_aiokafka(assignor, bootstrap, topic, group, instance))
    else:
        run_confluent(protocol, assignor, bootstrap, topic, group, instance)
    tell("shutdown_complete")


if __name__ == "__main__":
    main()
