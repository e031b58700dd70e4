"""Who may log in: SaslHandshake (17) and SaslAuthenticate (36) out of their place, delegation tokens (38 to 41), and
DescribeUserScramCredentials (50), in every version.

A login itself is over before a request comes here (runtime/serving/login_gate.py). What changes tokens is the controller's.
"""

from typing import TypeVar

from millstream_broker.api.forwarded import handle_forwarded
from millstream_broker.shell.broker import Broker
from millstream_cluster.acls import AclOperation
from millstream_cluster.answers.describe_user_scram_credentials import describe_scram_credentials
from millstream_cluster.answers.no_security import refuse_security
from millstream_runtime.serving.context import RawReply, RequestContext
from millstream_runtime.serving.login_requests import describe_tokens, may_ask_for_tokens
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.messages import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)


def handle_login_out_of_place(broker: Broker, request: Request[R], context: RequestContext) -> R:
    return refuse_security(request, context.version)


async def handle_token_request(broker: Broker, request: Request[R], context: RequestContext) -> RawReply | R:
    if not may_ask_for_tokens(context):
        return refuse_security(request, context.version)
    return await handle_forwarded(broker, request, context)


def handle_describe_delegation_token(
    broker: Broker, request: DescribeDelegationTokenRequest, context: RequestContext
) -> DescribeDelegationTokenResponse:
    return describe_tokens(request, context, broker.image, broker.config.token_secret)


def handle_describe_user_scram_credentials(
    broker: Broker, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse:
    denied = refuse_all(request, context, AclOperation.DESCRIBE)
    return denied or describe_scram_credentials(request, broker.image.logins)
