"""DescribeTransactions (API key 65): state of transactions by transactional id."""

from millstream_wire.schema import Request, Response, field, int16, int32, int64, message, string, struct


@message(api_key=65, versions=(0, 0), flexible=0)
class DescribeTransactionsRequest(Request["DescribeTransactionsResponse"]):
    transactional_ids: list[string] = field(default_factory=list)


@struct
class TopicData:
    topic: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class TransactionState:
    error_code: int16 = 0
    transactional_id: string = ""
    transaction_state: string = ""
    transaction_timeout_ms: int32 = 0
    transaction_start_time_ms: int64 = 0
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    topics: list[TopicData] = field(default_factory=list)


@message(api_key=65, versions=(0, 0), flexible=0)
class DescribeTransactionsResponse(Response):
    throttle_time_ms: int32 = 0
    transaction_states: list[TransactionState] = field(default_factory=list)
