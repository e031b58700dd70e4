"""Print, as one list, how many records of TOPIC the members of GROUP have not committed yet; joins nothing."""

import json
import sys

import login
from confluent_kafka import Consumer, TopicPartition


def main() -> None:
    bootstrap, group, topic = sys.argv[1:4]
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, **login.settings()})
    numbers = consumer.list_topics(topic, timeout=20).topics[topic].partitions
    lag = 0
    for each in consumer.committed([TopicPartition(topic, number) for number in numbers], timeout=20):
        low, high = consumer.get_watermark_offsets(each, timeout=20)
        lag += high - max(low, each.offset)
    print(json.dumps([lag]))
    consumer.close()


main()
