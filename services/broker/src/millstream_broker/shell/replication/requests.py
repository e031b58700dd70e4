"""What a follower asks, as a request: the usual one for who writes it by hand, and any one as a message."""

from uuid import UUID

from millstream_broker.config import BrokerConfig
from millstream_broker.core.partition.follower_session import Ask
from millstream_wire.messages import FetchRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic, ReplicaState
from millstream_wire.usual.fetch_request import FetchAsked, PartitionAsked


def asked_of(ask: Ask, config: BrokerConfig, broker_epoch: int, wait_ms: int) -> FetchAsked:
    max_bytes = config.replica_fetch_max_bytes
    partitions = [
        PartitionAsked(
            key[0],
            key[1],
            question.leader_epoch,
            question.offset,
            question.last_fetched_epoch,
            question.log_start_offset,
            max_bytes,
            question.cannot_append,
        )
        for key, question in ask.questions.items()
    ]
    return FetchAsked(
        config.node_id,
        broker_epoch,
        wait_ms,
        config.replica_fetch_min_bytes,
        config.replica_fetch_response_max_bytes,
        0,
        ask.session_id,
        ask.session_epoch,
        partitions,
        ask.forgotten,
    )


def message_of(ask: Ask, config: BrokerConfig, broker_epoch: int, wait_ms: int) -> FetchRequest:
    topics: dict[UUID, FetchTopic] = {}
    for (topic_id, index), question in ask.questions.items():
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = FetchTopic(topic_id=topic_id)
        topic.partitions.append(
            FetchPartition(
                partition=index,
                current_leader_epoch=question.leader_epoch,
                fetch_offset=question.offset,
                last_fetched_epoch=question.last_fetched_epoch,
                log_start_offset=question.log_start_offset,
                cannot_append=question.cannot_append,
                partition_max_bytes=config.replica_fetch_max_bytes,
            )
        )
    forgotten: dict[UUID, ForgottenTopic] = {}
    for topic_id, index in ask.forgotten:
        forgotten.setdefault(topic_id, ForgottenTopic(topic_id=topic_id)).partitions.append(index)
    return FetchRequest(
        replica_state=ReplicaState(replica_id=config.node_id, replica_epoch=broker_epoch),
        max_wait_ms=wait_ms,
        min_bytes=config.replica_fetch_min_bytes,
        max_bytes=config.replica_fetch_response_max_bytes,
        session_id=ask.session_id,
        session_epoch=ask.session_epoch,
        topics=list(topics.values()),
        forgotten_topics_data=list(forgotten.values()),
    )
