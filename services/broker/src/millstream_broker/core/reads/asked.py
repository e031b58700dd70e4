"""A Fetch that the codec has read, as whoever serves it needs it."""

from millstream_wire.messages import FetchRequest
from millstream_wire.usual.fetch_request import REPLICA_STATE_SINCE, FetchAsked, PartitionAsked
from millstream_wire.usual.fetch_response import TOPIC_IDS_SINCE


def asked_of(request: FetchRequest, version: int) -> FetchAsked:
    by_id = version >= TOPIC_IDS_SINCE
    state = request.replica_state
    return FetchAsked(
        state.replica_id if version >= REPLICA_STATE_SINCE else request.replica_id,
        state.replica_epoch,
        request.max_wait_ms,
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
        request.session_id,
        request.session_epoch,
        [
            PartitionAsked(
                topic.topic_id if by_id else topic.topic,
                asked.partition,
                asked.current_leader_epoch,
                asked.fetch_offset,
                asked.last_fetched_epoch,
                asked.log_start_offset,
                asked.partition_max_bytes,
                asked.cannot_append,
            )
            for topic in request.topics
            for asked in topic.partitions
        ],
        [
            (forgotten.topic_id if by_id else forgotten.topic, index)
            for forgotten in request.forgotten_topics_data
            for index in forgotten.partitions
        ],
        request.rack_id,
    )
