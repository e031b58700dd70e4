"""DeleteTopics (API key 20): delete topics by name or id."""

from millstream_wire.schema import ZERO_UUID, Request, Response, field, int16, int32, message, string, struct, uuid128


@struct
class DeleteTopicState:
    name: string | None = field(default=None, since=6)
    topic_id: uuid128 = field(default=ZERO_UUID, since=6)


@message(api_key=20, versions=(1, 6), flexible=4)
class DeleteTopicsRequest(Request["DeleteTopicsResponse"]):
    topics: list[DeleteTopicState] = field(default_factory=list, since=6)
    topic_names: list[string] = field(default_factory=list, until=5)
    timeout_ms: int32 = 0


@struct
class DeletableTopicResult:
    name: string | None = field(default="", nullable_since=6)
    topic_id: uuid128 = field(default=ZERO_UUID, since=6)
    error_code: int16 = 0
    error_message: string | None = field(default=None, since=5)


@message(api_key=20, versions=(1, 6), flexible=4)
class DeleteTopicsResponse(Response):
    throttle_time_ms: int32 = 0
    responses: list[DeletableTopicResult] = field(default_factory=list)
