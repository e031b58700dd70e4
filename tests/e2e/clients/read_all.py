"""Print every record of TOPIC from its first offset to its end, without a group, with kafka-python."""

import json
import sys

import login
from kafka import KafkaConsumer, TopicPartition


def main() -> None:
    bootstrap, topic = sys.argv[1:3]
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, **login.kafka_python())
    partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic))]
    consumer.assign(partitions)
    ends = consumer.end_offsets(partitions)
    consumer.seek_to_beginning(*partitions)
    while any(consumer.position(each) < ends[each] for each in partitions):
        for records in consumer.poll(timeout_ms=1000).values():
            for record in records:
                print(json.dumps([record.partition, record.offset, record.key.decode(), record.value.decode()]))
    consumer.close()


main()
