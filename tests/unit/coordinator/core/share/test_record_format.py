"""A share group's records survive the log's format, whatever they hold."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_coordinator.core.group.epochs import GroupEpoch, TargetEpoch
from millstream_coordinator.core.group_shard.record_format import decode_record, encode_record
from millstream_coordinator.core.share.kept import NOTHING_KEPT, Kept
from millstream_coordinator.core.share.member import ShareCurrent, ShareMember
from millstream_coordinator.core.share.records import (
    ShareCurrentStored,
    ShareEpochStored,
    ShareKeptStored,
    ShareMemberStored,
    ShareRecord,
    ShareTargetEpochStored,
    ShareTargetStored,
)
from millstream_wire.codec import DecodeError

names = st.text(max_size=8)
epochs = st.integers(-1, 2**31 - 1)
partitions = st.frozensets(st.tuples(st.uuids(), st.integers(0, 9)))
members = st.builds(
    ShareMember,
    member_id=st.just("m"),
    rack_id=st.none() | names,
    client_id=names,
    client_host=names,
    topics=st.lists(names).map(tuple),
)
currents = st.builds(ShareCurrent, epoch=epochs, previous_epoch=epochs, assigned=partitions)


@st.composite
def kept(draw: st.DrawFn) -> Kept:
    known = {UUID(int=number): f"t{number}" for number in range(4)}
    some = st.frozensets(st.tuples(st.sampled_from(list(known)), st.integers(0, 3)))
    begun = draw(some)
    state = NOTHING_KEPT.begin(draw(some) | begun, known).begun(begun)
    return state.delete(draw(st.frozensets(st.sampled_from(list(known)))))


records = st.one_of(
    st.builds(ShareEpochStored, names, st.none() | st.builds(GroupEpoch, epochs, st.integers(-(2**63), 2**63 - 1))),
    st.builds(ShareTargetEpochStored, names, st.none() | st.builds(TargetEpoch, epochs, st.integers(0, 2**62))),
    st.builds(ShareMemberStored, names, st.just("m"), st.none() | members),
    st.builds(ShareTargetStored, names, names, st.none() | partitions),
    st.builds(ShareCurrentStored, names, names, st.none() | currents),
    st.builds(ShareKeptStored, names, st.none() | kept()),
)


@given(records)
def test_records_survive(record: ShareRecord) -> None:
    assert decode_record(*encode_record(record)) == record


@pytest.mark.parametrize("kind", range(10, 16))
def test_records_that_are_cut_short_are_an_error(kind: int) -> None:
    with pytest.raises(DecodeError):
        decode_record(kind.to_bytes(2, "big"), None)
