"""AllocateProducerIds (API key 67): a block of producer ids, from the controller."""

from millstream_wire.schema import Request, Response, int16, int32, int64, message


@message(api_key=67, versions=(0, 0), flexible=0)
class AllocateProducerIdsRequest(Request["AllocateProducerIdsResponse"]):
    broker_id: int32 = 0
    broker_epoch: int64 = -1


@message(api_key=67, versions=(0, 0), flexible=0)
class AllocateProducerIdsResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id_start: int64 = 0
    producer_id_len: int32 = 0
