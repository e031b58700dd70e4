"""ListTransactions (API key 66): the transactions a coordinator knows."""

from millstream_wire.schema import Request, Response, field, int16, int32, int64, message, string, struct


@message(api_key=66, versions=(0, 2), flexible=0)
class ListTransactionsRequest(Request["ListTransactionsResponse"]):
    state_filters: list[string] = field(default_factory=list)
    producer_id_filters: list[int64] = field(default_factory=list)
    duration_filter: int64 = field(default=-1, since=1)
    transactional_id_pattern: string | None = field(default=None, since=2)


@struct
class TransactionState:
    transactional_id: string = ""
    producer_id: int64 = 0
    transaction_state: string = ""


@message(api_key=66, versions=(0, 2), flexible=0)
class ListTransactionsResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    unknown_state_filters: list[string] = field(default_factory=list)
    transaction_states: list[TransactionState] = field(default_factory=list)
