"""`__consumer_offsets`: a KIP-848 consumer group, its members, what they should own and what they own."""

from millstream_wire.schema import ZERO_UUID, Stored, binary, field, int8, int32, int64, stored, string, struct, uuid128


@stored(versions=(3, 3), flexible=None)
class ConsumerGroupMetadataKey(Stored):
    group_id: string = ""


@stored(versions=(0, 0), flexible=0)
class ConsumerGroupMetadataValue(Stored):
    epoch: int32 = 0
    metadata_hash: int64 = field(default=0, tag=0)


@stored(versions=(5, 5), flexible=None)
class ConsumerGroupMemberMetadataKey(Stored):
    group_id: string = ""
    member_id: string = ""


@struct
class ClassicProtocol:
    name: string = ""
    metadata: binary = b""


@struct
class ClassicMemberMetadata:
    session_timeout_ms: int32 = 0
    supported_protocols: list[ClassicProtocol] = field(default_factory=list)


@stored(versions=(0, 0), flexible=0)
class ConsumerGroupMemberMetadataValue(Stored):
    """`classic_member_metadata` is None for a member that does not speak the classic protocol; absent means empty."""

    instance_id: string | None = None
    rack_id: string | None = None
    client_id: string = ""
    client_host: string = ""
    subscribed_topic_names: list[string] = field(default_factory=list)
    subscribed_topic_regex: string | None = None
    rebalance_timeout_ms: int32 = -1
    server_assignor: string | None = None
    classic_member_metadata: ClassicMemberMetadata | None = field(default_factory=ClassicMemberMetadata, tag=0)


@stored(versions=(6, 6), flexible=None)
class ConsumerGroupTargetAssignmentMetadataKey(Stored):
    group_id: string = ""


@stored(versions=(0, 0), flexible=0)
class ConsumerGroupTargetAssignmentMetadataValue(Stored):
    assignment_epoch: int32 = 0
    assignment_timestamp: int64 = field(default=0, tag=0)


@stored(versions=(7, 7), flexible=None)
class ConsumerGroupTargetAssignmentMemberKey(Stored):
    group_id: string = ""
    member_id: string = ""


@struct
class TopicPartition:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[int32] = field(default_factory=list)


@stored(versions=(0, 0), flexible=0)
class ConsumerGroupTargetAssignmentMemberValue(Stored):
    topic_partitions: list[TopicPartition] = field(default_factory=list)


@stored(versions=(8, 8), flexible=None)
class ConsumerGroupCurrentMemberAssignmentKey(Stored):
    group_id: string = ""
    member_id: string = ""


@struct
class TopicPartitions:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[int32] = field(default_factory=list)
    assignment_epochs: list[int32] | None = field(default_factory=list, tag=0)


@stored(versions=(0, 0), flexible=0)
class ConsumerGroupCurrentMemberAssignmentValue(Stored):
    member_epoch: int32 = 0
    previous_member_epoch: int32 = 0
    state: int8 = 0
    assigned_partitions: list[TopicPartitions] = field(default_factory=list)
    partitions_pending_revocation: list[TopicPartitions] = field(default_factory=list)


@stored(versions=(16, 16), flexible=None)
class ConsumerGroupRegularExpressionKey(Stored):
    group_id: string = ""
    regular_expression: string = ""


@stored(versions=(0, 0), flexible=0)
class ConsumerGroupRegularExpressionValue(Stored):
    topics: list[string] = field(default_factory=list)
    version: int64 = 0
    timestamp: int64 = 0
