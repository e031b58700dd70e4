"""Offsets committed by confluent-kafka, which says it where a coordinator still loads, in place of asking again as other clients do."""

import servers
from confluent_kafka import Consumer, KafkaException, TopicPartition


def commit(consumer: Consumer, offsets: list[TopicPartition] | None = None) -> None:
    """Until it is done; without offsets what the consumer has read."""

    def commit_once() -> None:
        try:
            if offsets is None:
                consumer.commit(asynchronous=False)
            else:
                consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            raise AssertionError(str(error)) from error

    servers.eventually(commit_once)
