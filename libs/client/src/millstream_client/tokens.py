"""Delegation tokens: a password for a while that stands for its owner. What is asked names a token by its id, so no HMAC is passed around."""

from collections.abc import Sequence
from dataclasses import field

from millstream_client.cluster import Cluster
from millstream_client.errors import Refused, check
from millstream_cluster.principal import Principal
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from millstream_wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from millstream_wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from millstream_wire.messages.renew_delegation_token import RenewDelegationTokenRequest

AS_THE_BROKER_SAYS = -1
AT_ONCE = -1


@dataclass(frozen=True, slots=True)
class Token:
    token_id: str
    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    issued_ms: int
    expires_ms: int
    most_ms: int
    """No renewal goes beyond."""
    hmac: bytes = field(repr=False)
    """In base64 it is the password of who logs in with the token."""


async def create_token(
    cluster: Cluster,
    *,
    owner: Principal | None = None,
    renewers: Sequence[Principal] = (),
    max_lifetime_ms: int = AS_THE_BROKER_SAYS,
) -> Token:
    """`owner`: who asks, if None."""
    request = CreateDelegationTokenRequest(
        owner_principal_type=owner.type if owner is not None else None,
        owner_principal_name=owner.name if owner is not None else None,
        renewers=[CreatableRenewers(principal_type=each.type, principal_name=each.name) for each in renewers],
        max_lifetime_ms=max_lifetime_ms,
    )
    answer = await cluster.ask_any(request)
    check(answer.error_code, subject="token")
    return Token(
        token_id=answer.token_id,
        owner=Principal(answer.principal_type, answer.principal_name),
        requester=Principal(answer.token_requester_principal_type, answer.token_requester_principal_name),
        renewers=tuple(renewers),
        issued_ms=answer.issue_timestamp_ms,
        expires_ms=answer.expiry_timestamp_ms,
        most_ms=answer.max_timestamp_ms,
        hmac=bytes(answer.hmac),
    )


async def describe_tokens(cluster: Cluster, owner: Principal | None = None) -> list[Token]:
    """Those that the asker may see: his own, those that he may renew, and with a right to it those of others."""
    owners = None
    if owner is not None:
        owners = [DescribeDelegationTokenOwner(principal_type=owner.type, principal_name=owner.name)]
    answer = await cluster.ask_any(DescribeDelegationTokenRequest(owners=owners))
    check(answer.error_code, subject="tokens")
    found = [
        Token(
            token_id=each.token_id,
            owner=Principal(each.principal_type, each.principal_name),
            requester=Principal(each.token_requester_principal_type, each.token_requester_principal_name),
            renewers=tuple(Principal(one.principal_type, one.principal_name) for one in each.renewers),
            issued_ms=each.issue_timestamp,
            expires_ms=each.expiry_timestamp,
            most_ms=each.max_timestamp,
            hmac=bytes(each.hmac),
        )
        for each in answer.tokens
    ]
    return sorted(found, key=lambda token: (str(token.owner), token.token_id))


async def renew_token(cluster: Cluster, token_id: str, period_ms: int = AS_THE_BROKER_SAYS) -> int:
    """When it expires now."""
    hmac = await _hmac(cluster, token_id)
    answer = await cluster.ask_any(RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms))
    check(answer.error_code, subject=f"token {token_id}")
    return int(answer.expiry_timestamp_ms)


async def expire_token(cluster: Cluster, token_id: str, period_ms: int = AT_ONCE) -> int:
    """When it expires now."""
    hmac = await _hmac(cluster, token_id)
    answer = await cluster.ask_any(ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms))
    check(answer.error_code, subject=f"token {token_id}")
    return int(answer.expiry_timestamp_ms)


async def _hmac(cluster: Cluster, token_id: str) -> bytes:
    for each in await describe_tokens(cluster):
        if each.token_id == token_id:
            return each.hmac
    raise Refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, subject=f"token {token_id}")
