"""The hand-written answer is the codec's, byte for byte."""

from uuid import UUID

import pytest

from millstream_wire.api import ApiKey
from millstream_wire.codec import encode
from millstream_wire.header import encode_response_header
from millstream_wire.messages import FetchResponse
from millstream_wire.messages.fetch import FetchableTopicResponse, PartitionData
from millstream_wire.usual.fetch_response import COMPACT_SINCE, TAIL, head_of_one

TOPIC_ID = UUID(int=77)


@pytest.mark.parametrize("version", range(4, 19))
@pytest.mark.parametrize("name", ["t", "ü" * 100])
@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 16_383, 3_000_000])
@pytest.mark.parametrize("says_aborted", [True, False])
def test_the_same_bytes_as_the_codec_makes(version: int, name: str, size: int, says_aborted: bool) -> None:
    records = b"r" * size
    partition = PartitionData(
        partition_index=3,
        high_watermark=1 << 40,
        last_stable_offset=7,
        log_start_offset=5,
        aborted_transactions=[] if says_aborted else None,
        records=records,
    )
    topic = FetchableTopicResponse(topic=name, topic_id=TOPIC_ID, partitions=[partition])
    expected = encode_response_header(ApiKey.FETCH, version, 9)
    expected += encode(FetchResponse(session_id=12, responses=[topic]), version)
    head = head_of_one(
        version,
        12,
        TOPIC_ID.bytes if version >= 13 else name,
        3,
        high_watermark=1 << 40,
        last_stable_offset=7,
        log_start_offset=5,
        says_aborted=says_aborted,
        size=size,
    )
    tail = TAIL if version >= COMPACT_SINCE else b""
    assert (9).to_bytes(4, "big") + head + records + tail == expected
