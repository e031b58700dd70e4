"""Requests by seed for two servers that are asked the same: most are such as clients send, some are wrong in a place or two.

The same seed draws the same requests for both. What a server knows alone, the ids of its topics, is put in from `ids`.
"""

import random
import time
from collections.abc import Callable
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from millstream_wire import messages as m
from millstream_wire.messages import (
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_configs,
    describe_producers,
    fetch,
    incremental_alter_configs,
    list_offsets,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
)
from millstream_wire.records import Compression, Record, encode_batch, parse_header
from millstream_wire.records.batch import seal, write_header

PRODUCERS = (9001, 9002)
NOW_MS = int(time.time() * 1000)
"""When all records are from: old ones would go with the next look at what retention allows, on each server when it looks."""
LATER_MS = NOW_MS + 60_000
SETTINGS = (
    *(("cleanup.policy", "compact"), ("cleanup.policy", "delete"), ("cleanup.policy", "x")),
    *(("retention.ms", "100000000"), ("retention.ms", "x"), ("nonsense", "1")),
    *(("max.message.bytes", "100"), ("max.message.bytes", "1000000"), ("max.message.bytes", "")),
)


class Draw:
    """One server's side of the requests of a seed."""

    def __init__(self, seed: int, ids: dict[str, UUID]) -> None:
        self.random = random.Random(seed)
        self.topics = [f"{letter}-{seed}" for letter in "abc"]
        self.rare_topic = f"rare-{seed}"
        self.groups = [f"group-{letter}-{seed}" for letter in "xy"]
        self._ids = ids

    def request(self) -> tuple[Any, int]:
        """The next request and the version to ask in: the newest half of the time."""
        request = self.random.choice(BUILDERS)(self)
        first, last = request.versions
        if isinstance(request, m.ProduceRequest):
            first = 3
        return request, self.random.choice([last, self.random.randint(first, last)])

    def rarely(self, usual: list[Any], odd: list[Any]) -> Any:
        return self.random.choice(odd if self.random.random() < 0.1 else usual)

    def many(self, one: Callable[[], Any]) -> list[Any]:
        return [one() for _ in range(self.random.choice([1, 1, 1, 2, 3]))]

    def topic(self) -> str:
        return str(self.rarely(self.topics, [self.rare_topic, "bad name!", "x" * 250]))

    def id_of(self, topic: str) -> UUID:
        return self._ids.get(topic) or uuid5(NAMESPACE_OID, topic)

    def distinct_topics(self) -> list[str]:
        return list(dict.fromkeys(self.many(self.topic)))

    def partition(self) -> int:
        return int(self.rarely([0, 0, 1], [2, 7, -1]))

    def distinct_partitions(self) -> list[int]:
        return list(dict.fromkeys(self.many(self.partition)))

    def offset(self) -> int:
        return int(self.rarely([0, 1, 2, 3, 5, 8], [-1, -2, 10**9]))

    def leader_epoch(self) -> int:
        return int(self.rarely([-1, -1, 0], [1, 5]))

    def batch(self, topic: str, partition: int) -> bytes:
        """Of a producer only where it can be taken: nothing of its overtakes a batch that was refused in passing, as in Kafka it may."""
        draw = self.random
        records = [
            Record(i, NOW_MS + draw.choice([0, 1, 5]) + i, draw.choice([None, b"k", b"l"]), b"v" * draw.choice([0, 9]))
            for i in range(draw.choice([1, 1, 2, 5]))
        ]
        made = bytearray(encode_batch(records, compression=draw.choice([Compression.NONE, Compression.GZIP])))
        if topic in self._ids and partition == 0 and draw.random() < 0.5:
            number, epoch, sequence = draw.choice(PRODUCERS), draw.choice([0, 0, 0, 1]), draw.choice([0, 0, 1, 2, 3])
            header = parse_header(made).but(producer_id=number, producer_epoch=epoch, base_sequence=sequence)
            write_header(made, header)
            seal(made)
        elif draw.random() < 0.25:
            made = draw.choice(DAMAGES)(made)
        return bytes(made)


def _resealed(batch: bytearray, **changes: int) -> bytearray:
    write_header(batch, parse_header(batch).but(**changes))
    seal(batch)
    return batch


def _with_byte(batch: bytearray, at: int, value: int) -> bytearray:
    batch[at] = value
    return batch


DAMAGES: list[Callable[[bytearray], bytearray]] = [
    lambda batch: _with_byte(batch, 30, 9),  # the checksum is wrong
    lambda batch: _with_byte(batch, 16, 1),
    lambda batch: _with_byte(batch, 16, 0),
    lambda batch: batch[:-3],
    lambda batch: batch + batch,
    lambda batch: _resealed(batch, record_count=9),
    lambda batch: _resealed(batch, last_offset_delta=7),
    lambda batch: _resealed(batch, base_offset=5),
    lambda batch: _resealed(batch, attributes=0x20),
]


def _produce(draw: Draw) -> m.ProduceRequest:
    topics = [
        produce.TopicProduceData(
            name=topic,
            topic_id=draw.id_of(topic),
            partition_data=[
                produce.PartitionProduceData(index=index, records=draw.batch(topic, index))
                for index in draw.distinct_partitions()
            ],
        )
        for topic in draw.distinct_topics()
    ]
    return m.ProduceRequest(acks=draw.random.choice([-1, 1]), timeout_ms=30_000, topic_data=topics)


def _fetch(draw: Draw) -> m.FetchRequest:
    topic = draw.topic()  # with more than one the order of the answers is each server's own
    partitions = [
        fetch.FetchPartition(
            partition=index,
            current_leader_epoch=draw.leader_epoch(),
            fetch_offset=draw.offset(),
            partition_max_bytes=draw.rarely([1 << 20], [0, 1, 100]),
        )
        for index in draw.distinct_partitions()[:1]
    ]
    return m.FetchRequest(
        max_bytes=draw.rarely([1 << 20], [0, 1, 100]),
        isolation_level=draw.random.choice([0, 1]),
        topics=[fetch.FetchTopic(topic=topic, topic_id=draw.id_of(topic), partitions=partitions)],
    )


def _list_offsets(draw: Draw) -> m.ListOffsetsRequest:
    topics = [
        list_offsets.ListOffsetsTopic(
            name=topic,
            partitions=[
                list_offsets.ListOffsetsPartition(
                    partition_index=index,
                    current_leader_epoch=draw.leader_epoch(),
                    timestamp=draw.rarely([-1, -2, 0, NOW_MS, NOW_MS + 1, NOW_MS + 4], [-4, -5, LATER_MS]),
                )
                for index in draw.distinct_partitions()
            ],
        )
        for topic in draw.distinct_topics()
    ]
    return m.ListOffsetsRequest(
        replica_id=-1, isolation_level=draw.random.choice([0, 1]), topics=topics, timeout_ms=30_000
    )


def _delete_records(draw: Draw) -> m.DeleteRecordsRequest:
    topics = [
        delete_records.DeleteRecordsTopic(
            name=topic,
            partitions=[
                delete_records.DeleteRecordsPartition(partition_index=index, offset=draw.offset())
                for index in draw.distinct_partitions()
            ],
        )
        for topic in draw.distinct_topics()
    ]
    return m.DeleteRecordsRequest(topics=topics, timeout_ms=30_000)


def _epochs(draw: Draw) -> m.OffsetForLeaderEpochRequest:
    topics = [
        offset_for_leader_epoch.OffsetForLeaderTopic(
            topic=topic,
            partitions=[
                offset_for_leader_epoch.OffsetForLeaderPartition(
                    partition=index, current_leader_epoch=draw.leader_epoch(), leader_epoch=draw.rarely([0], [-1, 1, 5])
                )
                for index in draw.distinct_partitions()
            ],
        )
        for topic in draw.distinct_topics()
    ]
    return m.OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)


def _producers(draw: Draw) -> m.DescribeProducersRequest:
    topics = [
        describe_producers.TopicRequest(name=topic, partition_indexes=draw.distinct_partitions())
        for topic in draw.distinct_topics()
    ]
    return m.DescribeProducersRequest(topics=topics)


def _create_topics(draw: Draw) -> m.CreateTopicsRequest:
    topics = [
        create_topics.CreatableTopic(
            name=topic,
            num_partitions=draw.rarely([1, 2], [-1, 0, -2]),
            replication_factor=draw.rarely([1], [-1, 0, 3]),
            configs=[
                create_topics.CreatableTopicConfig(name=name, value=value)
                for name, value in draw.random.sample(SETTINGS, draw.random.choice([0, 0, 1]))
            ],
        )
        for topic in draw.many(draw.topic)
    ]
    return m.CreateTopicsRequest(topics=topics, timeout_ms=30_000, validate_only=draw.random.random() < 0.2)


def _delete_topics(draw: Draw) -> m.DeleteTopicsRequest:
    topics = draw.distinct_topics()[:1]
    states = [delete_topics.DeleteTopicState(name=topic) for topic in topics]
    return m.DeleteTopicsRequest(topics=states, topic_names=topics, timeout_ms=30_000)


def _create_partitions(draw: Draw) -> m.CreatePartitionsRequest:
    topics = [
        create_partitions.CreatePartitionsTopic(name=topic, count=draw.rarely([1, 2, 3], [0, -1]), assignments=None)
        for topic in draw.distinct_topics()
    ]
    return m.CreatePartitionsRequest(topics=topics, timeout_ms=30_000, validate_only=draw.random.random() < 0.3)


def _configs(draw: Draw) -> m.DescribeConfigsRequest:
    keys = ["cleanup.policy", "retention.ms", "max.message.bytes", "nonsense"]
    resources = [
        describe_configs.DescribeConfigsResource(
            resource_type=2, resource_name=topic, configuration_keys=draw.random.sample(keys, 2)
        )
        for topic in draw.distinct_topics()
    ]
    return m.DescribeConfigsRequest(resources=resources, include_synonyms=draw.random.random() < 0.5)


def _alter_configs(draw: Draw) -> m.IncrementalAlterConfigsRequest:
    resources = [
        incremental_alter_configs.AlterConfigsResource(
            resource_type=2,
            resource_name=topic,
            configs=[
                incremental_alter_configs.AlterableConfig(
                    name=name, config_operation=draw.rarely([0, 0, 1], [2, 3]), value=value
                )
                for name, value in draw.random.sample(SETTINGS, 1)
            ],
        )
        for topic in draw.distinct_topics()
    ]
    return m.IncrementalAlterConfigsRequest(resources=resources, validate_only=draw.random.random() < 0.2)


def _commit(draw: Draw) -> m.OffsetCommitRequest:
    topics = [
        offset_commit.OffsetCommitRequestTopic(
            name=topic,
            topic_id=draw.id_of(topic),
            partitions=[
                offset_commit.OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=abs(draw.offset()), committed_metadata="said"
                )
                for index in draw.distinct_partitions()
            ],
        )
        for topic in draw.distinct_topics()
    ]
    return m.OffsetCommitRequest(
        group_id=draw.random.choice(draw.groups),
        generation_id_or_member_epoch=draw.rarely([-1], [0, 3]),
        member_id=draw.rarely([""], ["nobody"]),
        topics=topics,
    )


def _committed(draw: Draw) -> m.OffsetFetchRequest:
    group, topics, partitions = draw.random.choice(draw.groups), draw.distinct_topics(), draw.distinct_partitions()
    newest = [
        offset_fetch.OffsetFetchRequestTopics(name=topic, topic_id=draw.id_of(topic), partition_indexes=partitions)
        for topic in topics
    ]
    oldest = [offset_fetch.OffsetFetchRequestTopic(name=topic, partition_indexes=partitions) for topic in topics]
    groups = [offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=newest)]
    return m.OffsetFetchRequest(group_id=group, topics=oldest, groups=groups)


def _forget(draw: Draw) -> m.OffsetDeleteRequest:
    topics = [
        offset_delete.OffsetDeleteRequestTopic(
            name=topic,
            partitions=[
                offset_delete.OffsetDeleteRequestPartition(partition_index=index)
                for index in draw.distinct_partitions()
            ],
        )
        for topic in draw.distinct_topics()
    ]
    return m.OffsetDeleteRequest(group_id=draw.random.choice(draw.groups), topics=topics)


BUILDERS: list[Callable[[Draw], Any]] = [
    *(_produce, _produce, _produce, _fetch, _fetch, _list_offsets, _list_offsets, _delete_records, _epochs, _producers),
    *(_create_topics, _delete_topics, _create_partitions, _configs, _alter_configs),
    *(_commit, _committed, _forget),
]
