"""A consumer group's records survive the log's format, whatever they hold."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_coordinator.core.consumer.member import CurrentAssignment, MemberMetadata, MemberState
from millstream_coordinator.core.consumer.records import (
    ConsumerRecord,
    CurrentStored,
    GroupEpochStored,
    MemberStored,
    RegexStored,
    ResolvedRegex,
    TargetEpochStored,
    TargetStored,
)
from millstream_coordinator.core.group.epochs import GroupEpoch, TargetEpoch
from millstream_coordinator.core.group_shard.record_format import decode_record, encode_record
from millstream_wire.codec import DecodeError, encode_stored
from millstream_wire.stored import ConsumerGroupCurrentMemberAssignmentValue
from millstream_wire.stored.consumer_group import TopicPartitions

names = st.text(max_size=8)
epochs = st.integers(-2, 2**31 - 1)
times = st.integers(0, 2**62)
partitions = st.tuples(st.uuids(), st.integers(0, 9))
members = st.builds(
    MemberMetadata,
    member_id=st.just("m"),
    instance_id=st.none() | names,
    rack_id=st.none() | names,
    client_id=names,
    client_host=names,
    topics=st.lists(names).map(tuple),
    regex=st.none() | names,
    rebalance_timeout_ms=epochs,
    server_assignor=st.none() | names,
)
currents = st.builds(
    CurrentAssignment,
    epoch=epochs,
    previous_epoch=epochs,
    state=st.sampled_from(MemberState),
    assigned=st.dictionaries(partitions, epochs),
    revoking=st.dictionaries(partitions, epochs),
)
hashes = st.integers(-(2**63), 2**63 - 1)
records = st.one_of(
    st.builds(GroupEpochStored, names, st.none() | st.builds(GroupEpoch, epochs, hashes)),
    st.builds(TargetEpochStored, names, st.none() | st.builds(TargetEpoch, epochs, times)),
    st.builds(MemberStored, names, st.just("m"), st.none() | members),
    st.builds(TargetStored, names, names, st.none() | st.frozensets(partitions)),
    st.builds(CurrentStored, names, names, st.none() | currents),
    st.builds(
        RegexStored, names, names, st.none() | st.builds(ResolvedRegex, st.lists(names).map(tuple), times, times)
    ),
)


@given(records)
def test_there_and_back(record: ConsumerRecord) -> None:
    assert decode_record(*encode_record(record)) == record


def test_partitions_of_an_older_record_are_had_since_the_members_epoch() -> None:
    key, _ = encode_record(CurrentStored("g", "m", None))
    topic = TopicPartitions(topic_id=UUID(int=1), partitions=[0, 1], assignment_epochs=None)
    value = ConsumerGroupCurrentMemberAssignmentValue(member_epoch=7, assigned_partitions=[topic])
    read = decode_record(key, encode_stored(value, 0))
    assert isinstance(read, CurrentStored)
    assert read.value is not None
    assert read.value.assigned == {(UUID(int=1), 0): 7, (UUID(int=1), 1): 7}


def test_a_state_that_is_none_is_an_error() -> None:
    key, _ = encode_record(CurrentStored("g", "m", None))
    with pytest.raises(DecodeError):
        decode_record(key, encode_stored(ConsumerGroupCurrentMemberAssignmentValue(state=9), 0))
