"""AddRaftVoter (API key 80): add a voter to the metadata quorum."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
    boolean,
    field,
    int16,
    int32,
    message,
    string,
    struct,
    uint16,
    uuid128,
)


@struct
class Listener:
    name: string = ""
    host: string = ""
    port: uint16 = 0


@message(api_key=80, versions=(0, 1), flexible=0)
class AddRaftVoterRequest(Request["AddRaftVoterResponse"]):
    cluster_id: string | None = ""
    timeout_ms: int32 = 0
    voter_id: int32 = 0
    voter_directory_id: uuid128 = ZERO_UUID
    listeners: list[Listener] = field(default_factory=list)
    ack_when_committed: boolean = field(default=True, since=1)


@message(api_key=80, versions=(0, 1), flexible=0)
class AddRaftVoterResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
