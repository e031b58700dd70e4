"""ElectLeaders (43), versions 0 to 2: preferred and unclean elections."""

from millstream_cluster.acls import AclOperation
from millstream_controller.core.partitions.elections import Ballot, ElectionType, elect_leaders
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import CloseConnection, RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ElectLeadersRequest, ElectLeadersResponse
from millstream_wire.messages.elect_leaders import PartitionResult, ReplicaElectionResult


async def handle_elect_leaders(
    controller: Controller, request: ElectLeadersRequest, context: RequestContext
) -> ElectLeadersResponse:
    if request.topic_partitions == []:
        return ElectLeadersResponse()
    if request.timeout_ms <= 0:
        return error_response(request, context.version, ErrorCode.REQUEST_TIMED_OUT)
    if request.election_type not in tuple(ElectionType):
        return error_response(
            request, context.version, ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}"
        )
    kind = ElectionType(request.election_type)
    ballots = None
    if request.topic_partitions is not None:
        ballots = [Ballot(each.topic, tuple(each.partitions)) for each in request.topic_partitions]
    try:
        denied = refuse_all(request, context, AclOperation.ALTER)
        if denied is not None:
            return denied
        elected = await controller.active.execute(lambda machine: elect_leaders(machine, kind, ballots))
    except NotActive as reason:
        if context.version == 0 and ballots is None:
            raise CloseConnection("version 0 cannot say that this is not the controller") from reason
        return error_response(request, context.version, ErrorCode.NOT_CONTROLLER, str(reason))
    results = [
        ReplicaElectionResult(
            topic=topic,
            partition_result=[
                PartitionResult(partition_id=index, error_code=outcome.error, error_message=outcome.message)
                for index, outcome in outcomes
            ],
        )
        for topic, outcomes in elected
    ]
    return ElectLeadersResponse(replica_election_results=results)
