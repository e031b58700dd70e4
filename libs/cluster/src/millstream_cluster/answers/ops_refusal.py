"""One error for everything that a rarer admin request asks of the controller; `refusal.py` has the frequent ones."""

from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.alter_client_quotas import ResponseEntryData
from millstream_wire.messages.alter_partition_reassignments import (
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from millstream_wire.messages.elect_leaders import PartitionResult, ReplicaElectionResult
from millstream_wire.schema import Request, Response


def refuse_ops(request: Request, code: ErrorCode, text: str | None) -> Response:
    match request:
        case m.ElectLeadersRequest():
            elections = [
                ReplicaElectionResult(
                    topic=topic.topic,
                    partition_result=[
                        PartitionResult(partition_id=index, error_code=code, error_message=text)
                        for index in topic.partitions
                    ],
                )
                for topic in request.topic_partitions or ()
            ]
            return m.ElectLeadersResponse(error_code=code, replica_election_results=elections)
        case m.AlterPartitionReassignmentsRequest():
            moves = [
                ReassignableTopicResponse(
                    name=topic.name,
                    partitions=[
                        ReassignablePartitionResponse(
                            partition_index=partition.partition_index, error_code=code, error_message=text
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
            return m.AlterPartitionReassignmentsResponse(error_code=code, error_message=text, responses=moves)
        case m.AlterClientQuotasRequest():
            entries = [
                ResponseEntryData(error_code=code, error_message=text, entity=entry.entity) for entry in request.entries
            ]
            return m.AlterClientQuotasResponse(entries=entries)
        case m.UpdateFeaturesRequest():
            return m.UpdateFeaturesResponse(error_code=code, error_message=text)
        case _:
            raise TypeError(f"{type(request).__name__} is not forwarded")
