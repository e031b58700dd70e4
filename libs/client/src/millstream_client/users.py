"""SCRAM users: who may log in with a password, which never leaves this process as it is."""

import secrets

from millstream_client.cluster import Cluster
from millstream_client.errors import check
from millstream_security.sasl.scram_mechanism import ITERATIONS_MIN, ScramMechanism
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from millstream_wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest

SALT_BYTES = 24


@dataclass(frozen=True, slots=True)
class ScramUser:
    name: str
    mechanism: str
    iterations: int


async def list_users(cluster: Cluster) -> list[ScramUser]:
    answer = await cluster.ask_any(DescribeUserScramCredentialsRequest(users=None))
    check(answer.error_code, answer.error_message, subject="users")
    return sorted(
        (
            ScramUser(each.user, ScramMechanism(info.mechanism).wire_name, info.iterations)
            for each in answer.results
            if each.error_code == ErrorCode.NONE
            for info in each.credential_infos
        ),
        key=lambda user: (user.name, user.mechanism),
    )


async def set_password(
    cluster: Cluster, name: str, password: str, mechanism: ScramMechanism, iterations: int = ITERATIONS_MIN
) -> None:
    salt = secrets.token_bytes(SALT_BYTES)
    made = ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        salted_password=mechanism.salted_password(password, salt, iterations),
    )
    await _alter(cluster, AlterUserScramCredentialsRequest(upsertions=[made]))


async def delete_user(cluster: Cluster, name: str, mechanism: ScramMechanism) -> None:
    gone = ScramCredentialDeletion(name=name, mechanism=mechanism)
    await _alter(cluster, AlterUserScramCredentialsRequest(deletions=[gone]))


async def _alter(cluster: Cluster, request: AlterUserScramCredentialsRequest) -> None:
    answer = await cluster.ask_any(request)
    for each in answer.results:
        check(each.error_code, each.error_message, subject=f"user {each.user}")
