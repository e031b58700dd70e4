"""DeleteShareGroupOffsets (API key 92): forget the start offsets of share groups."""

from millstream_wire.schema import ZERO_UUID, Request, Response, field, int16, int32, message, string, struct, uuid128


@struct
class DeleteShareGroupOffsetsRequestTopic:
    topic_name: string = ""


@message(api_key=92, versions=(0, 0), flexible=0)
class DeleteShareGroupOffsetsRequest(Request["DeleteShareGroupOffsetsResponse"]):
    group_id: string = ""
    topics: list[DeleteShareGroupOffsetsRequestTopic] = field(default_factory=list)


@struct
class DeleteShareGroupOffsetsResponseTopic:
    topic_name: string = ""
    topic_id: uuid128 = ZERO_UUID
    error_code: int16 = 0
    error_message: string | None = None


@message(api_key=92, versions=(0, 0), flexible=0)
class DeleteShareGroupOffsetsResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    responses: list[DeleteShareGroupOffsetsResponseTopic] = field(default_factory=list)
