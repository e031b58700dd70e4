"""AddOffsetsToTxn (API key 25): register a group with a transaction."""

from millstream_wire.schema import Request, Response, int16, int32, int64, message, string


@message(api_key=25, versions=(0, 4), flexible=3)
class AddOffsetsToTxnRequest(Request["AddOffsetsToTxnResponse"]):
    transactional_id: string = ""
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    group_id: string = ""


@message(api_key=25, versions=(0, 4), flexible=3)
class AddOffsetsToTxnResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
