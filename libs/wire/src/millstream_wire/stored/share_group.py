"""`__consumer_offsets`: a share group (KIP-932), its members, what they should read, and whose state is kept elsewhere."""

from millstream_wire.schema import ZERO_UUID, Stored, field, int8, int32, int64, stored, string, struct, uuid128


@stored(versions=(10, 10), flexible=None)
class ShareGroupMemberMetadataKey(Stored):
    group_id: string = ""
    member_id: string = ""


@stored(versions=(0, 0), flexible=0)
class ShareGroupMemberMetadataValue(Stored):
    rack_id: string | None = None
    client_id: string = ""
    client_host: string = ""
    subscribed_topic_names: list[string] = field(default_factory=list)


@stored(versions=(11, 11), flexible=None)
class ShareGroupMetadataKey(Stored):
    group_id: string = ""


@stored(versions=(0, 0), flexible=0)
class ShareGroupMetadataValue(Stored):
    epoch: int32 = 0
    metadata_hash: int64 = 0


@stored(versions=(12, 12), flexible=None)
class ShareGroupTargetAssignmentMetadataKey(Stored):
    group_id: string = ""


@stored(versions=(0, 0), flexible=0)
class ShareGroupTargetAssignmentMetadataValue(Stored):
    assignment_epoch: int32 = 0
    assignment_timestamp: int64 = field(default=0, tag=0)


@stored(versions=(13, 13), flexible=None)
class ShareGroupTargetAssignmentMemberKey(Stored):
    group_id: string = ""
    member_id: string = ""


@struct
class TopicPartitions:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[int32] = field(default_factory=list)


@stored(versions=(0, 0), flexible=0)
class ShareGroupTargetAssignmentMemberValue(Stored):
    topic_partitions: list[TopicPartitions] = field(default_factory=list)


@stored(versions=(14, 14), flexible=None)
class ShareGroupCurrentMemberAssignmentKey(Stored):
    group_id: string = ""
    member_id: string = ""


@stored(versions=(0, 0), flexible=0)
class ShareGroupCurrentMemberAssignmentValue(Stored):
    member_epoch: int32 = 0
    previous_member_epoch: int32 = 0
    state: int8 = 0
    assigned_partitions: list[TopicPartitions] = field(default_factory=list)


@stored(versions=(15, 15), flexible=None)
class ShareGroupStatePartitionMetadataKey(Stored):
    group_id: string = ""


@struct
class TopicPartitionsInfo:
    topic_id: uuid128 = ZERO_UUID
    topic_name: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class TopicInfo:
    topic_id: uuid128 = ZERO_UUID
    topic_name: string = ""


@stored(versions=(0, 0), flexible=0)
class ShareGroupStatePartitionMetadataValue(Stored):
    initializing_topics: list[TopicPartitionsInfo] = field(default_factory=list)
    initialized_topics: list[TopicPartitionsInfo] = field(default_factory=list)
    deleting_topics: list[TopicInfo] = field(default_factory=list)
