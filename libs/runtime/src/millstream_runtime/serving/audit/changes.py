"""What a request would change, and what its answer says of that: one row for each API by which somebody changes something.

A row names what is said and nothing else, so that no secret gets into the audit log: no salt, no key, no token, and of a
configuration only values that whoever may see it is shown.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from millstream_cluster.acls import AclOperation, AclPattern, AclPermission, AclResource
from millstream_cluster.answers.describe_configs import WireResourceType
from millstream_cluster.configs import TABLES
from millstream_cluster.records import ResourceType
from millstream_runtime.serving.peer import NodePeer, Peer
from millstream_security.sasl.scram_mechanism import ScramMechanism
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.schema import ZERO_UUID

if TYPE_CHECKING:
    from millstream_wire import messages as m

Resource: TypeAlias = str
"""`TYPE:name`."""
HIDDEN = "[hidden]"


@dataclass(frozen=True, slots=True)
class Changes:
    """What one request asks for."""

    asked: Sequence[tuple[Resource, str]]
    """With what else is to be said of each, which may be nothing."""
    answers: Callable[[Any], Iterable[tuple[Resource, int]]]
    """Out of the response: what became of each."""
    is_routine: bool = False
    """A program may do this all day: said once a minute."""


Describe: TypeAlias = Callable[[Any, Peer], Changes | None]
"""None: this request changes nothing, or nothing that a person decided."""


def _error(answer: Any) -> int:
    """Of an item of a response; of one that has none itself, the first of those in it."""
    own = getattr(answer, "error_code", ErrorCode.NONE)
    if own:
        return int(own)
    for name in ("partitions", "partition_result", "topics"):
        for each in getattr(answer, name, None) or ():
            if error := _error(each):
                return error
    return ErrorCode.NONE


def _one(resource: Resource, detail: str = "", *, is_routine: bool = False) -> Changes:
    """Whoever is answered with one error for all of it."""
    return Changes([(resource, detail)], lambda response: [(resource, _error(response))], is_routine)


def _named(kind: str, asked: Iterable[tuple[str, str]], items: str, name: str = "name") -> Changes:
    """Whose answer is a list of items that repeat the name; an error of the whole holds for each."""
    wanted = [(f"{kind}:{each}", detail) for each, detail in asked]

    def answers(response: Any) -> Iterable[tuple[Resource, int]]:
        overall = getattr(response, "error_code", ErrorCode.NONE)
        found = getattr(response, items) or ()
        if overall or not found:
            return [(resource, int(overall)) for resource, _ in wanted]
        return [(f"{kind}:{getattr(each, name)}", _error(each)) for each in found]

    return Changes(wanted, answers)


def _create_topics(request: "m.CreateTopicsRequest", peer: Peer) -> Changes | None:
    if request.validate_only:
        return None
    asked = [
        (
            topic.name,
            _words(
                f"partitions={len(topic.assignments) or topic.num_partitions}",
                f"replication_factor={topic.replication_factor}",
                *(f"{each.name}={_value(ResourceType.TOPIC, each.name, each.value)}" for each in topic.configs),
            ),
        )
        for topic in request.topics
    ]
    return _named("TOPIC", asked, "topics")


def _delete_topics(request: "m.DeleteTopicsRequest", peer: Peer) -> Changes:
    named = [_topic(each.name, each.topic_id) for each in request.topics]
    named += [_topic(name, ZERO_UUID) for name in request.topic_names]

    def answers(response: "m.DeleteTopicsResponse") -> Iterable[tuple[Resource, int]]:
        return [(_topic(each.name, each.topic_id), each.error_code) for each in response.responses]

    return Changes([(each, "") for each in named], answers)


def _topic(name: str | None, topic_id: Any) -> Resource:
    return f"TOPIC:{name}" if name else f"TOPIC_ID:{topic_id}"


def _create_partitions(request: "m.CreatePartitionsRequest", peer: Peer) -> Changes | None:
    if request.validate_only:
        return None
    return _named("TOPIC", [(each.name, f"partitions={each.count}") for each in request.topics], "results")


def _create_acls(request: "m.CreateAclsRequest", peer: Peer) -> Changes:
    asked = [_acl(each, each.resource_pattern_type) for each in request.creations]

    def answers(response: "m.CreateAclsResponse") -> Iterable[tuple[Resource, int]]:
        return [(name, each.error_code) for name, each in zip(asked, response.results, strict=False)]

    return Changes([(each, "") for each in asked], answers)


def _delete_acls(request: "m.DeleteAclsRequest", peer: Peer) -> Changes:
    asked = [_acl_filter(each) for each in request.filters]

    def answers(response: "m.DeleteAclsResponse") -> Iterable[tuple[Resource, int]]:
        """What was taken away; of a filter that took away nothing, that it was there."""
        for name, result in zip(asked, response.filter_results, strict=False):
            if result.error_code or not result.matching_acls:
                yield name, result.error_code
            for each in result.matching_acls:
                yield _acl(each, each.pattern_type), each.error_code

    return Changes([(each, "") for each in asked], answers)


def _acl(acl: Any, pattern: int) -> Resource:
    return _acl_text(
        acl.resource_type, pattern, acl.resource_name, acl.principal, acl.host, acl.operation, acl.permission_type
    )


def _acl_filter(acl: Any) -> Resource:
    return _acl_text(
        acl.resource_type_filter,
        acl.pattern_type_filter,
        acl.resource_name_filter,
        acl.principal_filter,
        acl.host_filter,
        acl.operation,
        acl.permission_type,
    )


def _acl_text(
    resource: int, pattern: int, name: str | None, principal: str | None, host: str | None, operation: int, allows: int
) -> Resource:
    return (
        f"ACL:{_word(AclPermission, allows)},{principal or 'ANY'},{host or 'ANY'},{_word(AclOperation, operation)},"
        f"{_word(AclResource, resource)},{_word(AclPattern, pattern)},{name or 'ANY'}"
    )


def _alter_configs(request: "m.AlterConfigsRequest | m.IncrementalAlterConfigsRequest", peer: Peer) -> Changes | None:
    if request.validate_only:
        return None
    asked = []
    for resource in request.resources:
        kind = _word(WireResourceType, resource.resource_type)
        configs = [_altered(kind, each) for each in resource.configs]
        asked.append((f"{kind}:{resource.resource_name}", _words(*configs)))

    def answers(response: Any) -> Iterable[tuple[Resource, int]]:
        return [
            (f"{_word(WireResourceType, each.resource_type)}:{each.resource_name}", each.error_code)
            for each in response.responses
        ]

    return Changes(asked, answers)


_OPERATIONS = {1: "-", 2: "+=", 3: "-="}


def _altered(kind: str, config: Any) -> str:
    operation = _OPERATIONS.get(getattr(config, "config_operation", 0), "=")
    if operation == "-":
        return f"-{config.name}"
    known = ResourceType(kind) if kind in {each.value for each in ResourceType} else None
    value = config.value if kind == WireResourceType.BROKER_LOGGER.name else _value(known, config.name, config.value)
    return f"{config.name}{operation}{value}"


def _value(kind: ResourceType | None, name: str, value: str | None) -> str | None:
    """A configuration's value, if it is known to be no secret."""
    key = TABLES[kind].get(name) if kind is not None else None
    return HIDDEN if key is None or key.sensitive else value


def _elect_leaders(request: "m.ElectLeadersRequest", peer: Peer) -> Changes:
    which = "unclean" if request.election_type else "preferred"
    if request.topic_partitions is None:
        return _named("TOPIC", [("*", f"election={which}")], "replica_election_results", "topic")
    asked = [(each.topic, _words(f"election={which}", *map(str, each.partitions))) for each in request.topic_partitions]
    return _named("TOPIC", asked, "replica_election_results", "topic")


def _alter_partition_reassignments(request: "m.AlterPartitionReassignmentsRequest", peer: Peer) -> Changes:
    asked = [
        (
            topic.name,
            _words(
                *(
                    f"{each.partition_index}->{'cancel' if each.replicas is None else '/'.join(map(str, each.replicas))}"
                    for each in topic.partitions
                )
            ),
        )
        for topic in request.topics
    ]
    return _named("TOPIC", asked, "responses")


def _alter_client_quotas(request: "m.AlterClientQuotasRequest", peer: Peer) -> Changes | None:
    if request.validate_only:
        return None
    asked = [
        (_quota(entry.entity), _words(*(f"-{op.key}" if op.remove else f"{op.key}={op.value:g}" for op in entry.ops)))
        for entry in request.entries
    ]

    def answers(response: "m.AlterClientQuotasResponse") -> Iterable[tuple[Resource, int]]:
        return [(_quota(entry.entity), entry.error_code) for entry in response.entries]

    return Changes(asked, answers)


def _quota(entity: Sequence[Any]) -> Resource:
    parts = (f"{each.entity_type}={'<default>' if each.entity_name is None else each.entity_name}" for each in entity)
    return f"QUOTA:{','.join(sorted(parts))}"


def _alter_user_scram_credentials(request: "m.AlterUserScramCredentialsRequest", peer: Peer) -> Changes:
    asked: dict[str, str] = {}
    for upsertion in request.upsertions:
        words = f"{_word(ScramMechanism, upsertion.mechanism)},iterations={upsertion.iterations}"
        asked[upsertion.name] = _words(asked.get(upsertion.name, ""), words)
    for deletion in request.deletions:
        asked[deletion.name] = _words(asked.get(deletion.name, ""), f"-{_word(ScramMechanism, deletion.mechanism)}")
    return _named("USER", asked.items(), "results", "user")


def _create_delegation_token(request: "m.CreateDelegationTokenRequest", peer: Peer) -> Changes:
    owner = f"{request.owner_principal_type or 'User'}:{request.owner_principal_name}"
    detail = _words(
        f"max_lifetime_ms={request.max_lifetime_ms}",
        *(f"owner={owner}" for _ in [1] if request.owner_principal_name),
        *(f"renewer={each.principal_type}:{each.principal_name}" for each in request.renewers),
    )

    def answers(response: "m.CreateDelegationTokenResponse") -> Iterable[tuple[Resource, int]]:
        return [(f"DELEGATION_TOKEN:{response.token_id}", response.error_code)]

    return Changes([("DELEGATION_TOKEN:", detail)], answers)


def _renew_delegation_token(request: "m.RenewDelegationTokenRequest", peer: Peer) -> Changes:
    return _one(f"DELEGATION_TOKEN:{HIDDEN}", f"renew_period_ms={request.renew_period_ms}")


def _expire_delegation_token(request: "m.ExpireDelegationTokenRequest", peer: Peer) -> Changes:
    return _one(f"DELEGATION_TOKEN:{HIDDEN}", f"expiry_time_period_ms={request.expiry_time_period_ms}")


def _update_features(request: "m.UpdateFeaturesRequest", peer: Peer) -> Changes | None:
    if request.validate_only:
        return None
    asked = [(each.feature, f"level={each.max_version_level}") for each in request.feature_updates]
    return _named("FEATURE", asked, "results", "feature")


def _unregister_broker(request: "m.UnregisterBrokerRequest", peer: Peer) -> Changes:
    return _one(f"BROKER:{request.broker_id}")


def _delete_records(request: "m.DeleteRecordsRequest", peer: Peer) -> Changes:
    asked = [
        (topic.name, _words(*(f"{each.partition_index}<{each.offset}" for each in topic.partitions)))
        for topic in request.topics
    ]
    return _named("TOPIC", asked, "topics")


def _alter_replica_log_dirs(request: "m.AlterReplicaLogDirsRequest", peer: Peer) -> Changes:
    asked = [
        (topic.name, _words(*(f"{index}->{directory.path}" for index in topic.partitions)))
        for directory in request.dirs
        for topic in directory.topics
    ]
    return _named("TOPIC", asked, "results", "topic_name")


def _write_txn_markers(request: "m.WriteTxnMarkersRequest", peer: Peer) -> Changes | None:
    """By who is no coordinator: a transaction that hangs is aborted by hand."""
    if isinstance(peer, NodePeer):
        return None
    asked = [
        (
            str(marker.producer_id),
            _words(
                "commit" if marker.transaction_result else "abort",
                *(f"{topic.name}-{index}" for topic in marker.topics for index in topic.partition_indexes),
            ),
        )
        for marker in request.markers
    ]
    return _named("PRODUCER_ID", asked, "markers", "producer_id")


def _delete_groups(request: "m.DeleteGroupsRequest", peer: Peer) -> Changes:
    return _named("GROUP", [(each, "delete") for each in request.groups_names], "results", "group_id")


def _offset_commit(request: "m.OffsetCommitRequest", peer: Peer) -> Changes | None:
    """By who is no member of the group: offsets are set by hand, or by a consumer that has its partitions from elsewhere."""
    if request.generation_id_or_member_epoch >= 0 or request.member_id:
        return None
    offsets = (
        f"{topic.name or topic.topic_id}-{each.partition_index}"
        for topic in request.topics
        for each in topic.partitions
    )
    return _one(f"GROUP:{request.group_id}", _words("set_offsets", *offsets), is_routine=True)


def _offset_delete(request: "m.OffsetDeleteRequest", peer: Peer) -> Changes:
    offsets = (f"{topic.name}-{each.partition_index}" for topic in request.topics for each in topic.partitions)
    return _one(f"GROUP:{request.group_id}", _words("delete_offsets", *offsets))


def _alter_share_group_offsets(request: "m.AlterShareGroupOffsetsRequest", peer: Peer) -> Changes:
    offsets = (
        f"{topic.topic_name}-{each.partition_index}={each.start_offset}"
        for topic in request.topics
        for each in topic.partitions
    )
    return _one(f"GROUP:{request.group_id}", _words("set_offsets", *offsets))


def _delete_share_group_offsets(request: "m.DeleteShareGroupOffsetsRequest", peer: Peer) -> Changes:
    topics = (topic.topic_name for topic in request.topics)
    return _one(f"GROUP:{request.group_id}", _words("delete_offsets", *topics))


def _leave_group(request: "m.LeaveGroupRequest", peer: Peer) -> Changes | None:
    """Of members that somebody else takes out: no member leaves by its instance's name alone."""
    removed = [each.group_instance_id for each in request.members if each.group_instance_id and not each.member_id]
    return _one(f"GROUP:{request.group_id}", _words("remove_members", *removed)) if removed else None


def _words(*words: str) -> str:
    return ",".join(word for word in words if word)


def _word(names: type[IntEnum], number: int) -> str:
    return names(number).name if number in {*names} else "ANY" if number == 1 else str(number)


CHANGES: Mapping[ApiKey, Describe] = {
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.ALTER_CONFIGS: _alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_partition_reassignments,
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
    ApiKey.CREATE_DELEGATION_TOKEN: _create_delegation_token,
    ApiKey.RENEW_DELEGATION_TOKEN: _renew_delegation_token,
    ApiKey.EXPIRE_DELEGATION_TOKEN: _expire_delegation_token,
    ApiKey.UPDATE_FEATURES: _update_features,
    ApiKey.UNREGISTER_BROKER: _unregister_broker,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
    ApiKey.WRITE_TXN_MARKERS: _write_txn_markers,
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_DELETE: _offset_delete,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _alter_share_group_offsets,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _delete_share_group_offsets,
    ApiKey.LEAVE_GROUP: _leave_group,
}
