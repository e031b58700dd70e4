"""CreateDelegationToken (38), versions 1 to 3, RenewDelegationToken (39) and ExpireDelegationToken (40), versions 1 and 2.

In the name of whoever asked the node that passed it on, and that node has seen to it that they may ask at all.
"""

from collections.abc import Callable
from typing import TypeAlias

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.decision import Decision
from millstream_cluster.ids import uuid_text
from millstream_cluster.principal import Principal
from millstream_cluster.records import MetadataRecord
from millstream_controller.core.logins.delegation_tokens import (
    NewToken,
    TokenChange,
    TokenIds,
    create_token,
    expire_token,
    renew_token,
)
from millstream_controller.core.logins.token_settings import TokenSettings
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import Refused
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.login_requests import may_ask_for_tokens
from millstream_runtime.serving.peer import ClientPeer
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

Change: TypeAlias = Callable[
    [ControllerMachine, TokenSettings, TokenIds, TokenChange, int], Decision[MetadataRecord, int]
]
NO_TIME = -1


async def handle_create_delegation_token(
    controller: Controller, request: CreateDelegationTokenRequest, context: RequestContext
) -> CreateDelegationTokenResponse:
    asker = _asker(context)
    if asker is None:
        return error_response(request, context.version, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    owner = asker
    if context.version >= 3 and request.owner_principal_name:
        owner = Principal(request.owner_principal_type or asker.type, request.owner_principal_name)
    renewers = [Principal(each.principal_type, each.principal_name) for each in request.renewers]
    wanted = NewToken(owner, asker, renewers, request.max_lifetime_ms)
    token_id, now_ms = uuid_text(controller.new_id()), controller.world.now_ms()
    try:
        active = controller.active
        if owner != asker and not context.may(AclOperation.CREATE_TOKENS, AclResource.USER, str(owner)):
            context.denied(AclOperation.CREATE_TOKENS, AclResource.USER, str(owner))
            return _refused_for(owner, asker, ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
        made = await active.execute(
            lambda machine: create_token(machine, machine.settings.tokens, wanted, token_id, now_ms)
        )
    except NotActive:
        return _refused_for(owner, asker, ErrorCode.NOT_CONTROLLER)
    except Refused as refused:
        return _refused_for(owner, asker, refused.error)
    return CreateDelegationTokenResponse(
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=asker.type,
        token_requester_principal_name=asker.name,
        issue_timestamp_ms=made.token.issued_ms,
        expiry_timestamp_ms=made.token.expires_ms,
        max_timestamp_ms=made.token.max_ms,
        token_id=token_id,
        hmac=made.hmac,
    )


def _refused_for(owner: Principal, asker: Principal, error: ErrorCode) -> CreateDelegationTokenResponse:
    return CreateDelegationTokenResponse(
        error_code=error,
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=asker.type,
        token_requester_principal_name=asker.name,
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )


async def handle_renew_delegation_token(
    controller: Controller, request: RenewDelegationTokenRequest, context: RequestContext
) -> RenewDelegationTokenResponse:
    error, expires_ms = await _change(controller, context, renew_token, request.hmac, request.renew_period_ms)
    return RenewDelegationTokenResponse(error_code=error, expiry_timestamp_ms=expires_ms)


async def handle_expire_delegation_token(
    controller: Controller, request: ExpireDelegationTokenRequest, context: RequestContext
) -> ExpireDelegationTokenResponse:
    error, expires_ms = await _change(controller, context, expire_token, request.hmac, request.expiry_time_period_ms)
    return ExpireDelegationTokenResponse(error_code=error, expiry_timestamp_ms=expires_ms)


async def _change(
    controller: Controller, context: RequestContext, change: Change, hmac: bytes | memoryview, period_ms: int
) -> tuple[ErrorCode, int]:
    """When the token expires now, -1 if it was refused."""
    asker, now_ms = _asker(context), controller.world.now_ms()
    if asker is None:
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, NO_TIME
    wanted = TokenChange(asker, bytes(hmac), period_ms)
    try:
        active = controller.active
        expires_ms = await active.execute(
            lambda machine: change(machine, machine.settings.tokens, active.token_ids, wanted, now_ms)
        )
    except NotActive:
        return ErrorCode.NOT_CONTROLLER, NO_TIME
    except Refused as refused:
        return refused.error, NO_TIME
    return ErrorCode.NONE, expires_ms


def _asker(context: RequestContext) -> Principal | None:
    peer = context.peer
    return peer.principal if may_ask_for_tokens(context) and isinstance(peer, ClientPeer) else None
