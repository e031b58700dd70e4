"""Who may log in: SaslHandshake (17) and SaslAuthenticate (36) out of their place, delegation tokens (38 to 41), and
DescribeUserScramCredentials (50), in every version.

A login itself is over before a request comes here (runtime/serving/login_gate.py). What changes tokens is the controller's.
"""

from typing import TypeVar

from millstream_cluster.acls import AclOperation
from millstream_cluster.answers.describe_user_scram_credentials import describe_scram_credentials
from millstream_cluster.answers.no_security import refuse_security
from millstream_coordinator.api.forwarded import handle_forwarded
from millstream_coordinator.shell.coordinator import Coordinator
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


def handle_login_out_of_place(coordinator: Coordinator, request: Request[R], context: RequestContext) -> R:
    return refuse_security(request, context.version)


async def handle_token_request(coordinator: Coordinator, request: Request[R], context: RequestContext) -> RawReply | R:
    if not may_ask_for_tokens(context):
        return refuse_security(request, context.version)
    return await handle_forwarded(coordinator, request, context)


def handle_describe_delegation_token(
    coordinator: Coordinator, request: DescribeDelegationTokenRequest, context: RequestContext
) -> DescribeDelegationTokenResponse:
    return describe_tokens(request, context, coordinator.image, coordinator.config.token_secret)


def handle_describe_user_scram_credentials(
    coordinator: Coordinator, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse:
    denied = refuse_all(request, context, AclOperation.DESCRIBE)
    return denied or describe_scram_credentials(request, coordinator.image.logins)
