"""`__consumer_offsets`: a classic group and its members. Kafka 4.3 writes value version 3."""

from millstream_wire.schema import Stored, binary, field, int32, int64, stored, string, struct


@stored(versions=(2, 2), flexible=None)
class GroupMetadataKey(Stored):
    group: string = ""


@struct
class MemberMetadata:
    member_id: string = ""
    group_instance_id: string | None = field(default=None, since=3)
    client_id: string = ""
    client_host: string = ""
    rebalance_timeout: int32 = field(default=0, since=1)
    session_timeout: int32 = 0
    subscription: binary = b""
    assignment: binary = b""


@stored(versions=(0, 4), flexible=4)
class GroupMetadataValue(Stored):
    protocol_type: string = ""
    generation: int32 = 0
    protocol: string | None = None
    leader: string | None = None
    current_state_timestamp: int64 = field(default=-1, since=2)
    members: list[MemberMetadata] = field(default_factory=list)
