"""DescribeUserScramCredentials (50), version 0: who has which SCRAM credential, and nothing that it could be guessed from."""

from collections import Counter

from millstream_cluster.image.logins import LoginsImage
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse
from millstream_wire.messages.describe_user_scram_credentials import CredentialInfo, DescribeUserScramCredentialsResult

_NUMBERS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}


def describe_scram_credentials(
    request: DescribeUserScramCredentialsRequest, logins: LoginsImage
) -> DescribeUserScramCredentialsResponse:
    """Nobody named is everybody meant: librdkafka asks so, where Java's client has a null."""
    asked = Counter(user.name for user in request.users) if request.users else Counter(logins.scram.keys())
    results = [_result(name, times, logins) for name, times in asked.items()]
    return DescribeUserScramCredentialsResponse(error_message="", results=results)


def _result(name: str, times: int, logins: LoginsImage) -> DescribeUserScramCredentialsResult:
    found = logins.scram.get(name)
    if times == 1 and found is not None:
        infos = [
            CredentialInfo(mechanism=_NUMBERS[each.mechanism], iterations=each.iterations) for each in found.values()
        ]
        return DescribeUserScramCredentialsResult(user=name, credential_infos=infos)
    code, message = ErrorCode.RESOURCE_NOT_FOUND, "Attempt to describe a user credential that does not exist"
    if times > 1:
        code = ErrorCode.DUPLICATE_RESOURCE
        message = "Cannot describe SCRAM credentials for the same user twice in a single request"
    return DescribeUserScramCredentialsResult(user=name, error_code=code, error_message=f"{message}: {name}")
