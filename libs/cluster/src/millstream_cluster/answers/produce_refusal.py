"""One error for every partition of a Produce: what a node answers that offers it and keeps no partitions."""

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ProduceRequest, ProduceResponse
from millstream_wire.messages.produce import PartitionProduceResponse, TopicProduceResponse


def refuse_produce(request: ProduceRequest, code: ErrorCode, text: str) -> ProduceResponse:
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(index=partition.index, error_code=code, base_offset=-1, error_message=text)
                    for partition in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )
