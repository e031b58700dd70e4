"""AlterClientQuotas (API key 49): set and remove quotas."""

from millstream_wire.schema import Request, Response, boolean, field, float64, int16, int32, message, string, struct


@struct
class EntityData:
    entity_type: string = ""
    entity_name: string | None = ""


@struct
class OpData:
    key: string = ""
    value: float64 = 0.0
    remove: boolean = False


@struct
class RequestEntryData:
    entity: list[EntityData] = field(default_factory=list)
    ops: list[OpData] = field(default_factory=list)


@message(api_key=49, versions=(0, 1), flexible=1)
class AlterClientQuotasRequest(Request["AlterClientQuotasResponse"]):
    entries: list[RequestEntryData] = field(default_factory=list)
    validate_only: boolean = False


@struct
class ResponseEntryData:
    error_code: int16 = 0
    error_message: string | None = None
    entity: list[EntityData] = field(default_factory=list)


@message(api_key=49, versions=(0, 1), flexible=1)
class AlterClientQuotasResponse(Response):
    throttle_time_ms: int32 = 0
    entries: list[ResponseEntryData] = field(default_factory=list)
