"""AlterClientQuotas as a decision: an answer per entity, all of an entity's changes or none.

Checked as Kafka checks it. What some node cannot read, or does not enforce, is refused until the cluster's level is raised.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.quotas.addresses import canonical
from millstream_cluster.quotas.keys import QUOTA_KEYS
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

Entity = tuple[tuple[str, str | None], ...]
"""(type, name) pairs, one of each type; None is the default."""

IP = r.QuotaEntityType.IP
_PRINTED = (r.QuotaEntityType.CLIENT_ID, r.QuotaEntityType.USER, IP)


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """`value` None takes the quota away."""

    key: str
    value: float | None


def entity_of(parts: Sequence[tuple[str, str | None]]) -> Entity:
    """Who is meant, in Kafka's order; of several parts of one type the last counts."""
    return tuple(sorted(dict(parts).items(), key=lambda part: (*_PRINTED, part[0]).index(part[0])))


def alter_client_quotas(
    machine: ControllerMachine, wanted: Sequence[tuple[Entity, tuple[QuotaChange, ...]]], *, validate_only: bool
) -> Decision[r.MetadataRecord, Mapping[Entity, Outcome]]:
    named = Counter(entity for entity, _ in wanted)
    records: list[r.ClientQuotaChanged] = []
    answers = {}
    for entity, changes in wanted:
        try:
            keys = [change.key for change in changes]
            if named[entity] > 1 or len(set(keys)) < len(keys):
                raise _invalid(f"Ignoring duplicate entity {_printed(entity)}")
            records += _changed(machine, entity, changes)
            answers[entity] = DONE
        except Refused as refused:
            answers[entity] = Outcome.of(refused)
    return Decision(() if validate_only else tuple(records), answers)


def _printed(entity: Entity) -> str:
    parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"


def _changed(machine: ControllerMachine, entity: Entity, changes: Sequence[QuotaChange]) -> list[r.ClientQuotaChanged]:
    _check_entity(entity)
    parts = [r.QuotaEntity(r.QuotaEntityType(kind), name) for kind, name in entity]
    for change in changes:
        if change.value is not None:
            _check(machine, frozenset(part.type for part in parts), change.key, change.value)
    owner = tuple(sorted(parts, key=lambda part: part.type, reverse=True))
    present = machine.image.client_quotas.get(owner, {})
    return [
        r.ClientQuotaChanged(owner, change.key, change.value)
        for change in changes
        if change.value != present.get(change.key)
    ]


def _check_entity(entity: Entity) -> None:
    if not entity:
        raise _invalid("Invalid empty client quota entity")
    names = dict(entity)
    for kind, name in entity:
        if kind not in tuple(r.QuotaEntityType):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    if IP in names and len(names) > 1:
        raise _invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    address = names.get(IP)
    if address is not None and canonical(address) is None:
        raise _invalid(f"{address} is not a valid IP or resolvable host.")


def _check(machine: ControllerMachine, kinds: frozenset[r.QuotaEntityType], name: str, value: float) -> None:
    key = QUOTA_KEYS.get(name)
    if key is None or not kinds <= key.kinds:
        raise _invalid(f"Invalid configuration key {name}")
    wrong = key.wrong_with(value)
    if wrong is not None:
        raise _invalid(wrong)
    level = machine.image.metadata_version
    if level < key.since:
        message = (
            f"this cluster's metadata.version is {level}, at which not every node enforces {name}; "
            f"raise it to {key.since} with kafka-features first"
        )
        raise _invalid(message)


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
