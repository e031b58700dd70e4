"""AddPartitionsToTxn (API key 24): register partitions with a transaction, or verify that they are registered."""

from millstream_wire.schema import Request, Response, boolean, field, int16, int32, int64, message, string, struct


@struct
class AddPartitionsToTxnTopic:
    name: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class AddPartitionsToTxnTransaction:
    transactional_id: string = field(default="", since=4)
    producer_id: int64 = field(default=0, since=4)
    producer_epoch: int16 = field(default=0, since=4)
    verify_only: boolean = field(default=False, since=4)
    topics: list[AddPartitionsToTxnTopic] = field(default_factory=list, since=4)


@message(api_key=24, versions=(0, 5), flexible=3)
class AddPartitionsToTxnRequest(Request["AddPartitionsToTxnResponse"]):
    transactions: list[AddPartitionsToTxnTransaction] = field(default_factory=list, since=4)
    v3_and_below_transactional_id: string = field(default="", until=3)
    v3_and_below_producer_id: int64 = field(default=0, until=3)
    v3_and_below_producer_epoch: int16 = field(default=0, until=3)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field(default_factory=list, until=3)


@struct
class AddPartitionsToTxnPartitionResult:
    partition_index: int32 = 0
    partition_error_code: int16 = 0


@struct
class AddPartitionsToTxnTopicResult:
    name: string = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field(default_factory=list)


@struct
class AddPartitionsToTxnResult:
    transactional_id: string = field(default="", since=4)
    topic_results: list[AddPartitionsToTxnTopicResult] = field(default_factory=list, since=4)


@message(api_key=24, versions=(0, 5), flexible=3)
class AddPartitionsToTxnResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = field(default=0, since=4)
    results_by_transaction: list[AddPartitionsToTxnResult] = field(default_factory=list, since=4)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field(default_factory=list, until=3)
