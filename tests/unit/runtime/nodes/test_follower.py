"""What a follower makes of a controller's word on what it applied in an earlier life, and of a log that it cannot read."""

import asyncio
from typing import Any

import pytest

from millstream_cluster.metadata_version import NEWEST
from millstream_cluster.records import ClusterCreated, encode_record
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.controllers import KnownControllers
from millstream_runtime.nodes.follower import Applied, MetadataDiverged, MetadataFollower, MetadataUnreadable
from millstream_runtime.world import RealWorld
from millstream_wire.codec import decode, encode
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest, FetchResponse
from millstream_wire.messages.fetch import EpochEndOffset, FetchableTopicResponse, PartitionData
from millstream_wire.records import Record, encode_batch

APPLIED = Applied(offset=10, epoch=2, cluster_id="mine")


class Link:
    """A controller that says the same to every fetch."""

    def __init__(self, data: PartitionData) -> None:
        self.data = data
        self.known = KnownControllers([("controller", 9093)])
        self.asked: list[FetchRequest] = []

    def another(self) -> "Link":
        return self

    async def request(self, request: FetchRequest, **_: Any) -> FetchResponse:
        self.asked.append(request)
        return FetchResponse(responses=[FetchableTopicResponse(partitions=[self.data])])

    async def close(self) -> None:
        return None


OUT_OF_RANGE = ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(
    "data",
    [
        PartitionData(error_code=OUT_OF_RANGE, high_watermark=6, log_start_offset=0),
        PartitionData(high_watermark=20, diverging_epoch=EpochEndOffset(epoch=1, end_offset=8)),
    ],
    ids=["shorter", "of another epoch"],
)
def test_a_log_without_what_was_applied_is_not_followed(data: PartitionData) -> None:
    link = Link(data)
    follower = MetadataFollower(
        RealWorld(SocketNetwork()),
        link,  # type: ignore[arg-type]
        node_id=1,
        on_records=lambda image, records: pytest.fail("followed"),
        applied_before=APPLIED,
    )

    async def main() -> None:
        async with asyncio.timeout(20):
            await follower.run()

    with pytest.raises(MetadataDiverged, match="node 1 has applied metadata up to 10 of epoch 2"):
        asyncio.run(main())
    (asked,) = link.asked
    partition = asked.topics[0].partitions[0]
    assert (partition.fetch_offset, partition.last_fetched_epoch, asked.cluster_id) == (11, 2, "mine")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (
            b"MetadataVersionSet",
            b'{"level":99}',
            "the cluster's metadata.version is 99 and this release reads up to 25",
        ),
        (b"FromTheFuture", b"{}", "metadata record type 'FromTheFuture' is unknown"),
        (b"ClusterCreated", b'{"cluster_id":"x","color":"red"}', r"unknown fields \['color'\]"),
    ],
    ids=["level", "type", "field"],
)
def test_a_log_of_a_later_release_ends_the_node_in_one_line(key: bytes, value: bytes, said: str) -> None:
    """The batch's first record is of this release: nothing of it is applied."""
    first = encode_record(ClusterCreated("mine"), NEWEST)
    batch = encode_batch([Record(0, 1, *first), Record(1, 1, key, value)], base_offset=0)
    follower = MetadataFollower(
        RealWorld(SocketNetwork()),
        Link(PartitionData(high_watermark=2, records=batch)),  # type: ignore[arg-type]
        node_id=3,
        on_records=lambda image, records: pytest.fail("followed"),
    )

    async def main() -> None:
        async with asyncio.timeout(20):
            await follower.run()

    with pytest.raises(MetadataUnreadable, match=f"^node 3 cannot read the metadata log: .*{said}") as stopped:
        asyncio.run(main())
    assert "\n" not in str(stopped.value)


def test_a_follower_says_at_each_fetch_what_it_can_read() -> None:
    link = Link(PartitionData(error_code=OUT_OF_RANGE, high_watermark=6, log_start_offset=0))
    follower = MetadataFollower(
        RealWorld(SocketNetwork()),
        link,  # type: ignore[arg-type]
        node_id=1,
        on_records=lambda image, records: None,
        applied_before=APPLIED,
    )
    with pytest.raises(MetadataDiverged):
        asyncio.run(follower.run())
    version = FetchRequest.versions[1]
    for asked in link.asked:
        assert decode(FetchRequest, version, encode(asked, version)).metadata_version == NEWEST
