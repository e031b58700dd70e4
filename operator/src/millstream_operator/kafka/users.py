"""Users over the admin protocol: SCRAM credentials, ACLs and quotas. No password leaves this process: the cluster gets salted ones."""

import hashlib
import secrets
from typing import assert_never

from millstream_cluster.acl_messages import creation_of, described_acls, filter_for
from millstream_cluster.acls import ANY, Acl
from millstream_operator.kafka.cluster import KafkaCluster, check
from millstream_operator.plan.user import (
    CreateAcls,
    DeleteAcls,
    RemoveCredential,
    SetCredential,
    SetQuotas,
    Step,
    UserSeen,
    WantedUser,
)
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)
from millstream_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from millstream_wire.messages.create_acls import CreateAclsRequest
from millstream_wire.messages.delete_acls import DeleteAclsRequest
from millstream_wire.messages.describe_acls import DescribeAclsRequest
from millstream_wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from millstream_wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName

SCRAM_SHA_512 = 2
ITERATIONS = 4096
"""Enough: passwords are made here, of more bits than can be guessed at any speed."""
SALT_BYTES = 32
EXACT_MATCH = 0
MECHANISM = "SCRAM-SHA-512"


async def look_at(cluster: KafkaCluster, user: WantedUser) -> UserSeen:
    return UserSeen(
        await _iterations(cluster, user.name),
        await _acls(cluster, f"User:{user.principal_name}"),
        await _quotas(cluster, user.principal_name),
    )


async def perform(cluster: KafkaCluster, user: WantedUser, step: Step, password: str) -> None:
    match step:
        case CreateAcls(acls):
            await _create(cluster, acls)
        case DeleteAcls(acls):
            await _delete(cluster, acls)
        case SetCredential():
            await _set_credential(cluster, user.name, password)
        case RemoveCredential():
            await _remove_credential(cluster, user.name)
        case SetQuotas(values):
            await _set_quotas(cluster, user.principal_name, dict(values))
        case _:
            assert_never(step)


async def _iterations(cluster: KafkaCluster, name: str) -> int | None:
    answer = await cluster.request(DescribeUserScramCredentialsRequest(users=[UserName(name=name)]))
    check(answer.error_code, answer.error_message)
    [result] = answer.results
    if result.error_code == ErrorCode.RESOURCE_NOT_FOUND:
        return None
    check(result.error_code, result.error_message)
    found = [info.iterations for info in result.credential_infos if info.mechanism == SCRAM_SHA_512]
    return found[0] if found else None


async def _set_credential(cluster: KafkaCluster, name: str, password: str) -> None:
    salt = secrets.token_bytes(SALT_BYTES)
    upsertion = ScramCredentialUpsertion(
        name=name,
        mechanism=SCRAM_SHA_512,
        iterations=ITERATIONS,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS),
    )
    answer = await cluster.request(AlterUserScramCredentialsRequest(upsertions=[upsertion]))
    for result in answer.results:
        check(result.error_code, result.error_message)


async def _remove_credential(cluster: KafkaCluster, name: str) -> None:
    deletion = ScramCredentialDeletion(name=name, mechanism=SCRAM_SHA_512)
    answer = await cluster.request(AlterUserScramCredentialsRequest(deletions=[deletion]))
    for result in answer.results:
        if result.error_code != ErrorCode.RESOURCE_NOT_FOUND:
            check(result.error_code, result.error_message)


async def _acls(cluster: KafkaCluster, principal: str) -> frozenset[Acl]:
    request = DescribeAclsRequest(
        resource_type_filter=ANY,
        resource_name_filter=None,
        pattern_type_filter=ANY,
        principal_filter=principal,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )
    answer = await cluster.request(request)
    check(answer.error_code, answer.error_message)
    return frozenset(described_acls(answer.resources))


async def _create(cluster: KafkaCluster, acls: frozenset[Acl]) -> None:
    answer = await cluster.request(CreateAclsRequest(creations=[creation_of(acl) for acl in acls]))
    for result in answer.results:
        check(result.error_code, result.error_message)


async def _delete(cluster: KafkaCluster, acls: frozenset[Acl]) -> None:
    answer = await cluster.request(DeleteAclsRequest(filters=[filter_for(acl) for acl in acls]))
    for result in answer.filter_results:
        check(result.error_code, result.error_message)


async def _quotas(cluster: KafkaCluster, name: str) -> dict[str, float]:
    component = ComponentData(entity_type="user", match_type=EXACT_MATCH, match=name)
    answer = await cluster.request(DescribeClientQuotasRequest(components=[component], strict=True))
    check(answer.error_code, answer.error_message)
    return {value.key: value.value for entry in answer.entries or () for value in entry.values}


async def _set_quotas(cluster: KafkaCluster, name: str, values: dict[str, float | None]) -> None:
    operations = [
        OpData(key=key, value=0.0 if value is None else value, remove=value is None) for key, value in values.items()
    ]
    entry = RequestEntryData(entity=[EntityData(entity_type="user", entity_name=name)], ops=operations)
    answer = await cluster.request(AlterClientQuotasRequest(entries=[entry]))
    for result in answer.entries:
        check(result.error_code, result.error_message)
