"""Who may append to a shard, also to one whose log lacks what was there."""

from __future__ import annotations

from uuid import UUID

import pytest

from millstream_broker.core.appends.shard_fence import shard_refusal
from millstream_cluster.ids import NodeId, ProducerEpoch, ProducerId
from millstream_cluster.members import Shard
from millstream_wire.errors import ErrorCode
from millstream_wire.records import Record, check, encode_batch

SHARD = Shard(UUID(int=1), 0, NodeId(100), ProducerId(40), ProducerEpoch(6))


def refusal(epoch: int, sequence: int, *, producer_id: int = 40, remembered: bool = False) -> ErrorCode:
    batch = encode_batch(
        [Record(0, 0, b"k", b"v")], producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )
    return shard_refusal(check(batch), SHARD, highest_id=40 if remembered else -1, is_remembered=remembered)


@pytest.mark.parametrize("remembered", [True, False])
def test_who_is_deposed_writes_nothing_also_where_the_log_lacks_the_later_claim(remembered: bool) -> None:
    assert refusal(5, 17, remembered=remembered) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refusal(5, 0, remembered=remembered) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_log_that_begins_anew_takes_a_claim_first() -> None:
    assert refusal(6, 17) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(6, 0) is ErrorCode.NONE
    assert refusal(7, 0) is ErrorCode.NONE, "of an epoch that this broker has not heard of yet"


def test_the_owner_goes_on() -> None:
    assert refusal(6, 17, remembered=True) is ErrorCode.NONE
    assert refusal(0, 0, producer_id=39, remembered=True) is ErrorCode.INVALID_PRODUCER_EPOCH
