"""Requests about share groups, each said word by word, and a transcript of the answers."""

from typing import Any

from raw_groups import RawGroup

from millstream_wire.messages import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    ListGroupsRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
)
from millstream_wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from millstream_wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequestTopic
from millstream_wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)

OFFSETS_VERSION = 1


class RawShareGroup(RawGroup):
    """A share group on one server, and what the server said about it."""

    def share_heartbeat(self, member: str, epoch: int, **said: Any) -> Any:
        group = said.pop("group", self.group)
        request = ShareGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, **said)
        return self.say(request, 1)

    def share_join(self, member: str, *topics: str, **said: Any) -> Any:
        return self.share_heartbeat(member, 0, subscribed_topic_names=list(topics or (self.topic,)), **said)

    def share_describe(self, *groups: str) -> Any:
        return self.say(ShareGroupDescribeRequest(group_ids=list(groups or (self.group,))), 1)

    def list_share_groups(self) -> Any:
        """Those of other tests are left out of the transcript: a server may have more of them than the other."""
        answer = self.say(ListGroupsRequest(types_filter=["share"]), 5)
        answer.groups = [each for each in answer.groups if each.group_id == self.group]
        self.transcript[-1] = f"ListGroupsRequest 5: {self._plain(answer)}"
        return answer

    def describe_offsets(self, *partitions: int, topic: str | None = None) -> Any:
        """Of all topics if no partitions are named."""
        named = DescribeShareGroupOffsetsRequestTopic(topic_name=topic or self.topic, partitions=list(partitions))
        group = DescribeShareGroupOffsetsRequestGroup(group_id=self.group, topics=[named] if partitions else None)
        return self.say(DescribeShareGroupOffsetsRequest(groups=[group]), OFFSETS_VERSION)

    def alter_offsets(self, *offsets: tuple[int, int], topic: str | None = None) -> Any:
        partitions = [
            AlterShareGroupOffsetsRequestPartition(partition_index=number, start_offset=offset)
            for number, offset in offsets
        ]
        named = AlterShareGroupOffsetsRequestTopic(topic_name=topic or self.topic, partitions=partitions)
        return self.say(AlterShareGroupOffsetsRequest(group_id=self.group, topics=[named]), 0)

    def delete_share_offsets(self, *topics: str) -> Any:
        named = [DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics or (self.topic,)]
        return self.say(DeleteShareGroupOffsetsRequest(group_id=self.group, topics=named), 0)
