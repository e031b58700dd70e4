"""Millstream's own client: a topic as iterators that never end, each read in a thread of its own.

KAFKA=127.0.0.1:9092 python streams_words.py
"""

import asyncio
import os
import threading
from collections import Counter

from millstream import MessageStream, streams
from millstream.client import Producer, open_cluster
from millstream_client.admin import create_topic

KAFKA = os.environ.get("KAFKA", "127.0.0.1:9092")
TOPIC = os.environ.get("TOPIC", "sentences")
SENTENCES = ["the mill turns", "the stream turns the mill", "nothing stops the stream"]


async def produce() -> None:
    async with open_cluster(KAFKA) as cluster:
        await create_topic(cluster, TOPIC, partitions=4)
        async with Producer(cluster) as producer:
            for number, sentence in enumerate(SENTENCES):
                await producer.send(TOPIC, sentence.encode(), partition=number)


def main() -> None:
    asyncio.run(produce())
    counted: Counter[str] = Counter()
    read = threading.Semaphore(0)

    def count(stream: MessageStream) -> None:
        for message in stream:  # ends when the streams are closed
            counted.update(message.value.split())
            read.release()

    with streams(TOPIC, 2, bootstrap=KAFKA, value="string") as both:
        readers = [threading.Thread(target=count, args=(stream,)) for stream in both]
        for reader in readers:
            reader.start()
        for _ in SENTENCES:
            read.acquire()
    for reader in readers:
        reader.join()
    for word, times in sorted(counted.items(), key=lambda each: (-each[1], each[0]))[:3]:
        print(word, times)


if __name__ == "__main__":
    main()
