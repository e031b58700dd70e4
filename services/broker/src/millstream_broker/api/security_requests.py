"""What is about security, which there is none of: SaslHandshake (17), SaslAuthenticate (36), delegation tokens (38 to 41) and DescribeUserScramCredentials (50), in every version."""

from typing import TypeVar

from millstream_broker.shell.broker import Broker
from millstream_cluster.acls import AclOperation
from millstream_cluster.answers.no_security import refuse_security
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.api import ApiKey
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)


def handle_security_request(broker: Broker, request: Request[R], context: RequestContext) -> R:
    if context.api_key is ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS:
        denied = refuse_all(request, context, AclOperation.DESCRIBE)
        if denied is not None:
            return denied
    return refuse_security(request, context.version)
