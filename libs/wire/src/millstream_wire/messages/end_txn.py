"""EndTxn (API key 26): commit or abort a transaction."""

from millstream_wire.schema import Request, Response, boolean, field, int16, int32, int64, message, string


@message(api_key=26, versions=(0, 5), flexible=3)
class EndTxnRequest(Request["EndTxnResponse"]):
    transactional_id: string = ""
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    committed: boolean = False


@message(api_key=26, versions=(0, 5), flexible=3)
class EndTxnResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id: int64 = field(default=-1, since=5)
    producer_epoch: int16 = field(default=-1, since=5)
