"""The claim of a shard: the record by which an owner begins, in the logs of all kinds of shards."""

import struct

from millstream_wire.codec import DecodeError
from millstream_wire.late_dataclass import dataclass

CLAIM_KEY = 19_795
"""A key version of our own, which other tools skip."""
_CLAIM_VALUE = struct.Struct(">hih")
"""Version 0, coordinator id, producer epoch."""


@dataclass(frozen=True, slots=True)
class ShardClaimed:
    """The first thing an owner writes: what stands before it is all there is, and earlier owners write no more.

    Written again as a barrier: that it was taken shows that its writer still owned the shard.
    """

    coordinator_id: int
    producer_epoch: int


def encode_claim(record: ShardClaimed) -> tuple[bytes, bytes]:
    return CLAIM_KEY.to_bytes(2, "big"), _CLAIM_VALUE.pack(0, record.coordinator_id, record.producer_epoch)


def decode_claim(value: bytes) -> ShardClaimed:
    try:
        _version, coordinator_id, epoch = _CLAIM_VALUE.unpack_from(value)
    except struct.error as error:
        raise DecodeError(f"claim: {error}") from None
    return ShardClaimed(coordinator_id, epoch)
