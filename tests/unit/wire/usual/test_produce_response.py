"""The hand-written answer is the codec's, byte for byte."""

from uuid import UUID

import pytest

from millstream_wire.api import ApiKey
from millstream_wire.codec import encode
from millstream_wire.header import encode_response_header
from millstream_wire.messages import ProduceResponse
from millstream_wire.messages.produce import PartitionProduceResponse, TopicProduceResponse
from millstream_wire.primitive import write_uvarint
from millstream_wire.usual.produce_response import one_success


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("name", ["t", "x" * 200])
def test_the_same_bytes_as_the_codec_makes(version: int, name: str) -> None:
    topic_id = UUID(int=77)
    partition = PartitionProduceResponse(index=3, base_offset=1 << 40, log_append_time_ms=-1, log_start_offset=5)
    topic = TopicProduceResponse(name=name, topic_id=topic_id, partition_responses=[partition])
    expected = encode_response_header(ApiKey.PRODUCE, version, 7) + encode(ProduceResponse(responses=[topic]), version)
    encoded_topic = topic_id.bytes if version >= 13 else write_uvarint(len(name) + 1) + name.encode()
    if version < 9:
        encoded_topic = len(name).to_bytes(2, "big") + name.encode()
    assert one_success(version, 7, encoded_topic, 3, 1 << 40, -1, 5) == expected
