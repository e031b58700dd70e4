"""DescribeClientQuotas (API key 48): find quotas by user, client id or address."""

from millstream_wire.schema import (
    Request,
    Response,
    boolean,
    field,
    float64,
    int8,
    int16,
    int32,
    message,
    string,
    struct,
)


@struct
class ComponentData:
    entity_type: string = ""
    match_type: int8 = 0
    match: string | None = ""


@message(api_key=48, versions=(0, 1), flexible=1)
class DescribeClientQuotasRequest(Request["DescribeClientQuotasResponse"]):
    components: list[ComponentData] = field(default_factory=list)
    strict: boolean = False


@struct
class EntityData:
    entity_type: string = ""
    entity_name: string | None = ""


@struct
class ValueData:
    key: string = ""
    value: float64 = 0.0


@struct
class EntryData:
    entity: list[EntityData] = field(default_factory=list)
    values: list[ValueData] = field(default_factory=list)


@message(api_key=48, versions=(0, 1), flexible=1)
class DescribeClientQuotasResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    entries: list[EntryData] | None = field(default_factory=list)
