"""What happened to topics, brokers and groups: the metadata log's records, which any node gets from the controller, and the groups' own log."""

from collections.abc import Mapping
from uuid import UUID

from millstream_client.assignment import TopicPartition
from millstream_client.cluster import Cluster
from millstream_client.consumer import Consumer, ConsumerConfig
from millstream_client.errors import InvalidData, KafkaError, check
from millstream_client.fetcher import FetchConfig
from millstream_client.offsets import EARLIEST, LATEST, NO_OFFSET, find_offsets
from millstream_cluster.errors import RecordError
from millstream_cluster.history import Entry, Event, GroupEntry, events_of, group_events
from millstream_cluster.ids import METADATA_TOPIC, OFFSETS_TOPIC
from millstream_cluster.records import decode_record
from millstream_cluster.shard import shard_of
from millstream_wire.codec import DecodeError
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.describe_quorum import DescribeQuorumRequest, RequestPartitionData, RequestTopicData
from millstream_wire.records import check as check_batch
from millstream_wire.records import decode_batch, split

_BATCH_BYTES_MAX = 64 << 20
_LOOK_MS = 200


class NoHistory(KafkaError):
    """The cluster is Apache Kafka, or of a release that does not tell its history."""


@dataclass(frozen=True, slots=True)
class History:
    """Everything that the controller has kept, oldest first."""

    events: list[Event]
    kept_since_ms: int | None
    """What was before that is forgotten; None: nothing is."""


async def cluster_history(cluster: Cluster) -> History:
    """Raises NoHistory."""
    entries: list[Entry] = []
    offset = 0
    while True:
        asked = RequestTopicData(topic_name=METADATA_TOPIC, partitions=[RequestPartitionData(partition_index=0)])
        answer = await cluster.ask_any(DescribeQuorumRequest(topics=[asked], history_from=offset))
        check(answer.error_code, answer.error_message, subject="history of the cluster")
        if answer.history.first_offset < 0:
            raise NoHistory("this cluster does not tell its history: it is Apache Kafka, or an older Millstream")
        entries += _entries(answer.history.records)
        if answer.history.next_offset <= offset:
            if answer.history.first_offset == 0 or not entries:
                return History(events_of(entries, {}), None)  # it names every topic itself
            return History(events_of(entries, await _names(cluster)), entries[0][0])
        offset = answer.history.next_offset


def _entries(records: memoryview | bytes) -> list[Entry]:
    try:
        return [
            (record.timestamp, decode_record(record.key, record.value))
            for batch in split(records)
            for record in decode_batch(batch, check_batch(batch), limit=_BATCH_BYTES_MAX)
        ]
    except RecordError as error:
        raise InvalidData(f"the cluster's metadata is of a later release than this command: {error}") from None


async def group_history(cluster: Cluster, group_id: str, since_ms: int) -> tuple[TopicPartition, list[Event]]:
    """The partition that keeps the group, and what it says of it; of Kafka's groups, too."""
    topic = await cluster.topic(OFFSETS_TOPIC)
    place = TopicPartition(OFFSETS_TOPIC, shard_of(group_id, len(topic.partitions)))
    end = (await find_offsets(cluster, {place: LATEST}))[place]
    start = (await find_offsets(cluster, {place: since_ms}))[place]
    if start == NO_OFFSET:
        return place, []
    entries: list[GroupEntry] = []
    config = ConsumerConfig(only=frozenset({place}), offsets={place: start}, fetch=FetchConfig(reset_to=EARLIEST))
    async with Consumer(cluster, [OFFSETS_TOPIC], config) as consumer:
        while consumer.positions.get(place, 0) < end:
            for message in await consumer.poll(timeout_ms=_LOOK_MS):
                if message.key is not None:
                    entries.append((message.timestamp_ms, message.key, message.value))
    try:
        return place, group_events(entries, group_id, await _names(cluster))
    except DecodeError as error:
        raise InvalidData(f"{place} has a record that this command does not understand: {error}") from None


async def _names(cluster: Cluster) -> Mapping[UUID, str]:
    return {topic.topic_id: name for name, topic in (await cluster.describe()).topics.items()}
