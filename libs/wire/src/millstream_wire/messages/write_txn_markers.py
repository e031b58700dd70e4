"""WriteTxnMarkers (API key 27): write the outcome of transactions into partitions, from coordinator to brokers."""

from millstream_wire.schema import Request, Response, boolean, field, int8, int16, int32, int64, message, string, struct


@struct
class WritableTxnMarkerTopic:
    name: string = ""
    partition_indexes: list[int32] = field(default_factory=list)


@struct
class WritableTxnMarker:
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    transaction_result: boolean = False
    topics: list[WritableTxnMarkerTopic] = field(default_factory=list)
    coordinator_epoch: int32 = 0
    transaction_version: int8 = field(default=0, since=2)


@message(api_key=27, versions=(1, 2), flexible=1)
class WriteTxnMarkersRequest(Request["WriteTxnMarkersResponse"]):
    markers: list[WritableTxnMarker] = field(default_factory=list)


@struct
class WritableTxnMarkerPartitionResult:
    partition_index: int32 = 0
    error_code: int16 = 0


@struct
class WritableTxnMarkerTopicResult:
    name: string = ""
    partitions: list[WritableTxnMarkerPartitionResult] = field(default_factory=list)


@struct
class WritableTxnMarkerResult:
    producer_id: int64 = 0
    topics: list[WritableTxnMarkerTopicResult] = field(default_factory=list)


@message(api_key=27, versions=(1, 2), flexible=1)
class WriteTxnMarkersResponse(Response):
    markers: list[WritableTxnMarkerResult] = field(default_factory=list)
