"""What a cluster without security says to requests about it: word for word what Apache Kafka says without an authorizer.

ACLs (API keys 29 to 31, versions 1 to 3), SASL on a plaintext listener (17, versions 0 and 1; 36, versions 0 to 2) and
delegation tokens (38 to 41). There are no SCRAM credentials (50) to describe. Tools rely on it: MirrorMaker takes SECURITY_DISABLED for "there are no ACLs to copy".
"""

from collections import Counter
from typing import Any, TypeVar, cast

from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.create_acls import AclCreationResult
from millstream_wire.messages.delete_acls import DeleteAclsFilterResult
from millstream_wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsResult
from millstream_wire.schema import Request, Response

NO_AUTHORIZER = "No Authorizer is configured."
USER = "User"
ANONYMOUS = "ANONYMOUS"
NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
"""Tokens are for who has authenticated, which nobody can on a plaintext listener."""


R = TypeVar("R", bound=Response)


def refuse_security(request: Request[R], version: int) -> R:
    return cast(R, _refusal(request, version))


def _refusal(request: Request[Any], version: int) -> Response:
    match request:
        case m.DescribeAclsRequest():
            message = "No Authorizer is configured on the broker"
            return m.DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=message)
        case m.CreateAclsRequest():
            created = [
                AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
                for _ in request.creations
            ]
            return m.CreateAclsResponse(results=created)
        case m.DeleteAclsRequest():
            deleted = [
                DeleteAclsFilterResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
                for _ in request.filters
            ]
            return m.DeleteAclsResponse(filter_results=deleted)
        case m.SaslHandshakeRequest():
            return m.SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
        case m.SaslAuthenticateRequest():
            message = "SaslAuthenticate request received after successful authentication"
            return m.SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=message)
        case m.CreateDelegationTokenRequest():
            return _no_token(request, version)
        case m.RenewDelegationTokenRequest():
            return m.RenewDelegationTokenResponse(error_code=NOT_ALLOWED, expiry_timestamp_ms=-1)
        case m.ExpireDelegationTokenRequest():
            return m.ExpireDelegationTokenResponse(error_code=NOT_ALLOWED, expiry_timestamp_ms=-1)
        case m.DescribeDelegationTokenRequest():
            return m.DescribeDelegationTokenResponse(error_code=NOT_ALLOWED)
        case m.DescribeUserScramCredentialsRequest():
            return _no_credentials(request)
        case _:
            raise TypeError(f"{type(request).__name__} is not about security")


def _no_credentials(request: m.DescribeUserScramCredentialsRequest) -> m.DescribeUserScramCredentialsResponse:
    asked = Counter(user.name for user in request.users or ())
    results = []
    for name, times in asked.items():
        code, message = ErrorCode.RESOURCE_NOT_FOUND, "Attempt to describe a user credential that does not exist"
        if times > 1:
            code = ErrorCode.DUPLICATE_RESOURCE
            message = "Cannot describe SCRAM credentials for the same user twice in a single request"
        results.append(
            DescribeUserScramCredentialsResult(user=name, error_code=code, error_message=f"{message}: {name}")
        )
    return m.DescribeUserScramCredentialsResponse(error_message="", results=results)


def _no_token(request: m.CreateDelegationTokenRequest, version: int) -> m.CreateDelegationTokenResponse:
    for_another = version >= 3 and bool(request.owner_principal_name)
    return m.CreateDelegationTokenResponse(
        error_code=NOT_ALLOWED,
        principal_type=(request.owner_principal_type or USER) if for_another else USER,
        principal_name=(request.owner_principal_name or ANONYMOUS) if for_another else ANONYMOUS,
        token_requester_principal_type=USER,
        token_requester_principal_name=ANONYMOUS,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )
