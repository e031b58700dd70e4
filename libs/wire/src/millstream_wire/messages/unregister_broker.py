"""UnregisterBroker (API key 64): forget a broker that will not come back."""

from millstream_wire.schema import Request, Response, int16, int32, message, string


@message(api_key=64, versions=(0, 0), flexible=0)
class UnregisterBrokerRequest(Request["UnregisterBrokerResponse"]):
    broker_id: int32 = 0


@message(api_key=64, versions=(0, 0), flexible=0)
class UnregisterBrokerResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
