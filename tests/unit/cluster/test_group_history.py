"""What the coordinators' log tells of a group, of all three kinds."""

from uuid import UUID

import pytest

from millstream_cluster.history import group_events
from millstream_wire import stored as s
from millstream_wire.codec import DecodeError, encode_stored
from millstream_wire.stored.consumer_group import TopicPartitions
from millstream_wire.stored.group_metadata import MemberMetadata

TOPIC_ID = UUID(int=7)


class GroupLog:
    def __init__(self) -> None:
        self.entries: list[tuple[int, bytes, bytes | None]] = []

    def add(self, kind: int, key, value=None, version: int = 0) -> "GroupLog":
        encoded = None if value is None else encode_stored(value, version)
        self.entries.append((len(self.entries), encode_stored(key, kind), encoded))
        return self

    def generation(self, number: int, *names: str, group: str = "g") -> "GroupLog":
        members = [MemberMetadata(member_id=f"{each}-1", client_id=each, client_host="/10.0.0.1") for each in names]
        value = s.GroupMetadataValue(protocol_type="consumer", generation=number, protocol="range", members=members)
        return self.add(2, s.GroupMetadataKey(group=group), value, 3)

    def commit(self, offset: int | None, group: str = "g") -> "GroupLog":
        value = None if offset is None else s.OffsetCommitValue(offset=offset)
        return self.add(1, s.OffsetCommitKey(group=group, topic="t", partition=0), value, 3)

    def told(self) -> list[tuple[str, str]]:
        return [(each.what, each.why) for each in group_events(self.entries, "g", {TOPIC_ID: "t"})]


def test_the_generations_of_a_classic_group() -> None:
    log = (
        GroupLog().generation(1, "a").generation(1, "a", group="other").generation(2, "a", "b").generation(2, "a", "b")
    )
    log.generation(3, "b", "a").generation(4, "b").generation(5).add(2, s.GroupMetadataKey(group="g"))
    assert log.told() == [
        ("generation 1: 1 member", "members: a at 10.0.0.1"),
        ("generation 2: 2 members", "came: b at 10.0.0.1"),
        ("generation 3: 2 members", "the same members joined anew: one of them asked for it"),
        ("generation 4: 1 member", "went: a at 10.0.0.1"),
        ("generation 5: no members", "went: b at 10.0.0.1"),
        ("forgotten", ""),
    ]


def test_commits_are_silent_unless_they_go_back() -> None:
    log = GroupLog().commit(5).commit(9).commit(1, group="other").commit(3).commit(4).commit(None).commit(1)
    assert log.told() == [
        ("goes back in t-0, from 9 to 3", "somebody committed that"),
        ("its offset of t-0 was forgotten", ""),
    ]


def test_members_of_a_consumer_group_come_read_and_go() -> None:
    member = s.ConsumerGroupMemberMetadataKey(group_id="g", member_id="m")
    current = s.ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="m")
    about = s.ConsumerGroupMemberMetadataValue(client_id="a", client_host="/10.0.0.1", subscribed_topic_names=["t"])
    reads = s.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=1, assigned_partitions=[TopicPartitions(topic_id=TOPIC_ID, partitions=[1, 0])]
    )
    log = (
        GroupLog()
        .add(5, member, about)
        .add(3, s.ConsumerGroupMetadataKey(group_id="g"), s.ConsumerGroupMetadataValue(epoch=1))
    )
    log.add(8, current, reads).add(8, current, reads).add(8, current).add(5, member)
    assert log.told() == [
        ("a at 10.0.0.1 came", "it subscribes to t"),
        ("epoch 1", ""),
        ("a at 10.0.0.1 reads t: 0,1", "epoch 1"),
        ("a at 10.0.0.1 went", ""),
    ]


def test_a_share_group() -> None:
    member = s.ShareGroupMemberMetadataKey(group_id="g", member_id="m")
    about = s.ShareGroupMemberMetadataValue(client_id="a", client_host="/10.0.0.1", subscribed_topic_names=["t"])
    log = (
        GroupLog()
        .add(10, member, about)
        .add(11, s.ShareGroupMetadataKey(group_id="g"), s.ShareGroupMetadataValue(epoch=4))
    )
    log.add(10, member).add(11, s.ShareGroupMetadataKey(group_id="g"))
    assert log.told() == [
        ("a at 10.0.0.1 came", "it subscribes to t"),
        ("epoch 4", ""),
        ("a at 10.0.0.1 went", ""),
        ("forgotten", ""),
    ]


def test_a_log_whose_beginning_was_compacted_and_records_of_other_kinds() -> None:
    log = GroupLog().add(5, s.ConsumerGroupMemberMetadataKey(group_id="g", member_id="m"))
    log.entries.append((1, (19795).to_bytes(2, "big"), b"\x00"))
    assert log.told() == [("member m went", "")]


def test_what_cannot_be_read_is_an_error_and_not_left_out() -> None:
    log = GroupLog().generation(1, "a")
    time_ms, key, value = log.entries[0]
    with pytest.raises(DecodeError):
        group_events([(time_ms, key, (value or b"")[:-3])], "g", {})
