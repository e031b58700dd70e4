"""AlterClientQuotas as a decision: an answer per entity, all of an entity's changes or none.

Checked as Kafka checks it. What brokers do not enforce is refused: a quota that is stored and not kept protects nobody.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_wire.errors import ErrorCode

Entity = tuple[tuple[str, str | None], ...]
"""(type, name) pairs, one of each type; None is the default."""

IP = "ip"
ENFORCED = ("producer_byte_rate", "consumer_byte_rate")
UNENFORCED: Mapping[bool, tuple[str, ...]] = {
    False: ("request_percentage", "controller_mutation_rate"),
    True: ("connection_creation_rate",),
}
"""Kafka's other keys: for users and clients, for addresses."""
LONG_MAX = (1 << 63) - 1
_PRINTED = ("client-id", "user", IP)


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
    for change in changes:
        if change.value is not None:
            _check(change.key, change.value, is_address=dict(entity).keys() == {IP})
    parts = [r.QuotaEntity(r.QuotaEntityType(kind), name) for kind, name in entity if kind != IP]
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
    kinds = [kind for kind, _ in entity]
    for kind, name in entity:
        if kind not in (*r.QuotaEntityType, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    if IP in kinds and len(kinds) > 1:
        raise _invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")


def _check(key: str, value: float, *, is_address: bool) -> None:
    if key in UNENFORCED[is_address]:
        raise _invalid(f"Quota {key} is not enforced by this release, which knows {' and '.join(ENFORCED)}")
    if is_address or key not in ENFORCED:
        raise _invalid(f"Invalid configuration key {key}")
    if not value > 0:  # not a number, too
        raise _invalid(f"Quota {key} must be greater than 0")
    if value > LONG_MAX or math.isinf(value):
        raise _invalid(f"Proposed value for {key} is too large for a LONG.")
    if value != int(value):
        raise _invalid(f"{key} cannot be a fractional value.")


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
