"""CreateAcls and DeleteAcls as decisions: an answer for each creation and each filter, one record for each ACL that comes or goes."""

from collections.abc import Callable, Sequence
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.acls import (
    CLUSTER_NAME,
    Acl,
    AclOperation,
    AclPattern,
    AclPermission,
    AclResource,
)
from millstream_cluster.answers.describe_acls import AclFilter
from millstream_cluster.decision import Decision
from millstream_cluster.metadata_version import MetadataVersion
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import RECORDS_MAX
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

PART_MAX_BYTES = 1_024
"""The longest name, principal or host that is kept; no topic, group or user has names that long."""


@dataclass(frozen=True, slots=True)
class NewAcl:
    """As CreateAcls asks for it: numbers that nobody has checked."""

    resource: int
    pattern: int
    name: str
    principal: str
    host: str
    operation: int
    permission: int


@dataclass(frozen=True, slots=True)
class Removed:
    """The answer to one filter."""

    outcome: Outcome
    acls: tuple[Acl, ...] = ()


def create_acls(
    machine: ControllerMachine, wanted: Sequence[NewAcl], *, new_id: Callable[[], UUID]
) -> Decision[r.MetadataRecord, tuple[Outcome, ...]]:
    """Each on its own; one that is there already is no error and makes no record."""
    records: list[r.MetadataRecord] = []
    added: set[Acl] = set()
    answers = []
    for asked in wanted:
        try:
            acl = _checked(asked)
            if acl not in machine.image.acls.ids and acl not in added:
                _check_room(machine, records)
                added.add(acl)
                records.append(r.AclAdded.of(new_id(), acl))
            answers.append(DONE)
        except Refused as refused:
            answers.append(Outcome.of(refused))
    return Decision(tuple(records), tuple(answers))


def delete_acls(
    machine: ControllerMachine, filters: Sequence[AclFilter]
) -> Decision[r.MetadataRecord, tuple[Removed, ...]]:
    """Each filter tells all that it matches; what several match goes once."""
    going: dict[UUID, None] = {}
    answers = []
    for each in filters:
        flaw = each.flaw()
        if flaw is not None:
            answers.append(Removed(Outcome(ErrorCode.INVALID_REQUEST, flaw)))
            continue
        matched = {acl: acl_id for acl, acl_id in machine.image.acls.ids.items() if each.matches(acl)}
        if len(going.keys() | set(matched.values())) > RECORDS_MAX:
            message = "Excessively large number of ACLs per request."
            answers.append(Removed(Outcome(ErrorCode.POLICY_VIOLATION, message)))
            continue
        going |= dict.fromkeys(matched.values())
        answers.append(Removed(DONE, tuple(matched)))
    return Decision(tuple(r.AclRemoved(acl_id) for acl_id in going), tuple(answers))


def _checked(asked: NewAcl) -> Acl:
    if asked.resource not in tuple(AclResource):
        raise _invalid(f"Invalid resourceType {asked.resource}")
    if asked.pattern not in tuple(AclPattern):
        raise _invalid(f"Invalid patternType {asked.pattern}")
    if asked.operation not in tuple(AclOperation):
        raise _invalid(f"Invalid operation {asked.operation}")
    if asked.permission not in tuple(AclPermission):
        raise _invalid(f"Invalid permissionType {asked.permission}")
    if not asked.name:
        raise _invalid("Resource name should not be empty")
    if asked.resource == AclResource.CLUSTER and asked.name != CLUSTER_NAME:
        raise _invalid(f"Unknown cluster resource name: {asked.name}")
    if ":" not in asked.principal:
        raise _invalid(f"Could not parse principal from `{asked.principal}` (no colon is present separating the types)")
    if not asked.host:
        raise _invalid("Host should not be empty")
    if any(len(part.encode()) > PART_MAX_BYTES for part in (asked.name, asked.principal, asked.host)):
        raise _invalid(f"Names, principals and hosts of ACLs have at most {PART_MAX_BYTES} bytes")
    return Acl(
        AclResource(asked.resource),
        AclPattern(asked.pattern),
        asked.name,
        asked.principal,
        asked.host,
        AclOperation(asked.operation),
        AclPermission(asked.permission),
    )


def _check_room(machine: ControllerMachine, records: Sequence[r.MetadataRecord]) -> None:
    if machine.image.metadata_version < MetadataVersion.RELEASE_0_2:
        level = MetadataVersion.RELEASE_0_2
        message = f"ACLs need metadata.version {level.value}: raise it with kafka-features first"
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, message)
    if len(records) >= RECORDS_MAX:
        raise Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of ACLs per request.")


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
