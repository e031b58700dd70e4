"""What clients ask about logins that a node answers of its own: DescribeUserScramCredentials (50) and DescribeDelegationToken (41),
and whether somebody may ask for delegation tokens at all."""

from millstream_cluster import records as r
from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.image import Image
from millstream_cluster.principal import ANONYMOUS
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.peer import ClientPeer
from millstream_security.sasl.delegation_tokens import token_hmac
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeDelegationTokenRequest, DescribeDelegationTokenResponse
from millstream_wire.messages.describe_delegation_token import DescribedDelegationToken, DescribedDelegationTokenRenewer


def may_ask_for_tokens(context: RequestContext) -> bool:
    """Only who has shown credentials other than a token: a token would live for ever by making others."""
    peer = context.peer
    return isinstance(peer, ClientPeer) and peer.principal != ANONYMOUS and not context.connection.by_token


def describe_tokens(
    request: DescribeDelegationTokenRequest,
    context: RequestContext,
    image: Image,
    secret_key: str | None,
) -> DescribeDelegationTokenResponse:
    peer = context.peer
    if not may_ask_for_tokens(context) or not isinstance(peer, ClientPeer):
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if secret_key is None:
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    asker = str(peer.principal)
    owners = None
    if request.owners is not None:
        owners = {f"{owner.principal_type}:{owner.principal_name}" for owner in request.owners}
    shown = [
        _described(token, secret_key)
        for token in image.logins.tokens.values()
        if (owners is None or not owners.isdisjoint(_concerned(token)))
        and (asker in _concerned(token) or _may_see(token, context))
    ]
    return DescribeDelegationTokenResponse(tokens=shown)


def _concerned(token: r.DelegationTokenSet) -> tuple[str, ...]:
    """Whom Kafka takes for its owners where it is asked for those of somebody."""
    return token.owner, token.requester, *token.renewers


def _may_see(token: r.DelegationTokenSet, context: RequestContext) -> bool:
    """A token of others."""
    return context.may(AclOperation.DESCRIBE, AclResource.DELEGATION_TOKEN, token.token_id) or context.may(
        AclOperation.DESCRIBE_TOKENS, AclResource.USER, token.owner
    )


def _described(token: r.DelegationTokenSet, secret_key: str) -> DescribedDelegationToken:
    owner_type, _, owner = token.owner.partition(":")
    requester_type, _, requester = token.requester.partition(":")
    return DescribedDelegationToken(
        principal_type=owner_type,
        principal_name=owner,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=token_hmac(secret_key, token.token_id),
        renewers=[_renewer(each) for each in token.renewers],
    )


def _renewer(principal: str) -> DescribedDelegationTokenRenewer:
    kind, _, name = principal.partition(":")
    return DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name)
