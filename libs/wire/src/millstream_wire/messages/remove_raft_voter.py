"""RemoveRaftVoter (API key 81): remove a voter from the metadata quorum."""

from millstream_wire.schema import ZERO_UUID, Request, Response, int16, int32, message, string, uuid128


@message(api_key=81, versions=(0, 0), flexible=0)
class RemoveRaftVoterRequest(Request["RemoveRaftVoterResponse"]):
    cluster_id: string | None = ""
    voter_id: int32 = 0
    voter_directory_id: uuid128 = ZERO_UUID


@message(api_key=81, versions=(0, 0), flexible=0)
class RemoveRaftVoterResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
