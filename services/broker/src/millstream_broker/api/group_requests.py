"""Group requests at a node that coordinates none: OffsetCommit (8), OffsetFetch (9), JoinGroup (11), Heartbeat (12),
LeaveGroup (13), SyncGroup (14), DescribeGroups (15), DeleteGroups (42), OffsetDelete (47), ConsumerGroupHeartbeat (68),
ConsumerGroupDescribe (69), in every version.

They are offered because some clients take one node's ApiVersions for the whole cluster's; the answer is NOT_COORDINATOR,
after which clients ask where to go. ListGroups (16) and ListTransactions (66) go to every node: nothing is here.
"""

from typing import TypeVar

from millstream_broker.shell.broker import Broker
from millstream_runtime.serving.context import RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    ListGroupsRequest,
    ListGroupsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)


def handle_group_request(broker: Broker, request: Request[R], context: RequestContext) -> R:
    return error_response(request, context.version, ErrorCode.NOT_COORDINATOR)


def handle_list_groups(broker: Broker, request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    return ListGroupsResponse()


def handle_list_transactions(
    broker: Broker, request: ListTransactionsRequest, context: RequestContext
) -> ListTransactionsResponse:
    return ListTransactionsResponse()
