"""What consumers of the classic protocol put into JoinGroup metadata and SyncGroup assignments.

Never flexible. A member may be newer than we are: read these with `decode_embedded`.
"""

from millstream_wire.schema import Stored, binary, field, int32, stored, string, struct


@struct
class TopicPartition:
    topic: string = ""
    partitions: list[int32] = field(default_factory=list)


@stored(versions=(0, 3), flexible=None)
class ConsumerProtocolSubscription(Stored):
    topics: list[string] = field(default_factory=list)
    user_data: binary | None = None
    owned_partitions: list[TopicPartition] = field(default_factory=list, since=1)
    generation_id: int32 = field(default=-1, since=2)
    rack_id: string | None = field(default=None, since=3)


@stored(versions=(0, 3), flexible=None)
class ConsumerProtocolAssignment(Stored):
    assigned_partitions: list[TopicPartition] = field(default_factory=list)
    user_data: binary | None = None
