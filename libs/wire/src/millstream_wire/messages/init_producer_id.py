"""InitProducerId (API key 22): obtain a producer id and epoch."""

from millstream_wire.schema import Request, Response, boolean, field, int16, int32, int64, message, string


@message(api_key=22, versions=(0, 6), flexible=2)
class InitProducerIdRequest(Request["InitProducerIdResponse"]):
    transactional_id: string | None = ""
    transaction_timeout_ms: int32 = 0
    producer_id: int64 = field(default=-1, since=3)
    producer_epoch: int16 = field(default=-1, since=3)
    enable_2pc: boolean = field(default=False, since=6)
    keep_prepared_txn: boolean = field(default=False, since=6)


@message(api_key=22, versions=(0, 6), flexible=2)
class InitProducerIdResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id: int64 = -1
    producer_epoch: int16 = 0
    ongoing_txn_producer_id: int64 = field(default=-1, since=6)
    ongoing_txn_producer_epoch: int16 = field(default=-1, since=6)
