"""Whatever the batches, the segments and the limits: a reader that follows its offsets sees every record once, in order."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millstream_wire.messages import FetchRequest, ProduceRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.records import decode_batches

BATCHES = st.lists(st.lists(st.integers(0, 400), min_size=1, max_size=5), min_size=1, max_size=25)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=BATCHES,
    segment_bytes=st.integers(700, 5000),
    limits=st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 3000)), min_size=1, max_size=5),
    codec=st.sampled_from([0, 1, 2, 3, 4]),
)
def test_a_reader_sees_every_record_once_and_in_order(
    new_broker: Any, batch: Any, tmp_path_factory: Any, batches: Any, segment_bytes: int, limits: Any, codec: int
) -> None:
    directory: Path = tmp_path_factory.mktemp("data")
    node = new_broker(directory)
    node.start()
    node.create_topic("t")
    replica = node.replica("t")
    replica.configure(replace(replica.settings, log=replace(replica.settings.log, segment_bytes=segment_bytes * 4)))
    replica.log.config = replace(replica.settings.log, segment_bytes=segment_bytes)
    sent = []
    for sizes in batches:
        values = [f"{len(sent) + index}:".ljust(size, "x") for index, size in enumerate(sizes)]
        sent += values
        data = PartitionProduceData(index=0, records=batch(*values, compression=codec))
        request = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="t", partition_data=[data])])
        assert node.call(request, 9).responses[0].partition_responses[0].error_code == 0
    offset, seen = 0, []
    for turn in range(10_000):
        partition_max, request_max = limits[turn % len(limits)]
        asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=partition_max)
        request = FetchRequest(max_bytes=request_max, topics=[FetchTopic(topic="t", partitions=[asked])])
        answer = node.call(request, 11).responses[0].partitions[0]
        fresh = [record for record in decode_batches(answer.records) if record.offset >= offset]
        if not fresh:
            break
        assert [record.offset for record in fresh] == list(range(offset, offset + len(fresh)))
        seen += [(record.value or b"").decode() for record in fresh]
        offset += len(fresh)
    assert seen == sent
    replica.log.check()
    node.partitions.abandon()
