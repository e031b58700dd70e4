"""DescribeAcls (API key 29), CreateAcls (30) and DeleteAcls (31), versions 1 to 3: what there is, is told here; the controller changes it.

Without an authorizer there are none, and whoever asks is told so.
"""

from typing import TypeVar

from millstream_broker.api.forwarded import handle_forwarded
from millstream_broker.shell.broker import Broker
from millstream_cluster.acls import AclOperation
from millstream_cluster.answers.describe_acls import describe_acls
from millstream_cluster.answers.no_security import refuse_security
from millstream_runtime.serving.context import RawReply, RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.messages import DescribeAclsRequest, DescribeAclsResponse
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)


def handle_describe_acls(broker: Broker, request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    if context.connection.authorizer is None:
        return refuse_security(request, context.version)
    refused = refuse_all(request, context, AclOperation.DESCRIBE)
    return describe_acls(broker.image, request) if refused is None else refused


async def handle_acl_change(broker: Broker, request: Request[R], context: RequestContext) -> RawReply | R:
    if context.connection.authorizer is None:
        return refuse_security(request, context.version)
    return await handle_forwarded(broker, request, context)
