"""AlterUserScramCredentials (API key 51): set and remove SCRAM credentials."""

from millstream_wire.schema import Request, Response, binary, field, int8, int16, int32, message, string, struct


@struct
class ScramCredentialDeletion:
    name: string = ""
    mechanism: int8 = 0


@struct
class ScramCredentialUpsertion:
    name: string = ""
    mechanism: int8 = 0
    iterations: int32 = 0
    salt: binary = b""
    salted_password: binary = b""


@message(api_key=51, versions=(0, 0), flexible=0)
class AlterUserScramCredentialsRequest(Request["AlterUserScramCredentialsResponse"]):
    deletions: list[ScramCredentialDeletion] = field(default_factory=list)
    upsertions: list[ScramCredentialUpsertion] = field(default_factory=list)


@struct
class AlterUserScramCredentialsResult:
    user: string = ""
    error_code: int16 = 0
    error_message: string | None = None


@message(api_key=51, versions=(0, 0), flexible=0)
class AlterUserScramCredentialsResponse(Response):
    throttle_time_ms: int32 = 0
    results: list[AlterUserScramCredentialsResult] = field(default_factory=list)
