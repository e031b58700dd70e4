"""AlterUserScramCredentials as a decision: an answer per user, and a user may be in a request once.

What is stored can check a password and is none: both keys of the RFC are worked out here of the salted password that the
client sends.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.metadata_version import MetadataVersion
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_security.sasl.scram_mechanism import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    ScramCredential,
    ScramMechanism,
    base64,
)
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Deletion:
    user: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class Upsertion:
    user: str
    mechanism: int
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


def alter_scram_credentials(
    machine: ControllerMachine,
    deletions: Sequence[Deletion],
    upsertions: Sequence[Upsertion],
    new_secret: bytes,
) -> Decision[r.MetadataRecord, Mapping[str, Outcome]]:
    """`new_secret`: random, for a cluster that has none yet."""
    changes: list[Deletion | Upsertion] = [*deletions, *upsertions]
    named = Counter(each.user for each in changes)
    records: list[r.MetadataRecord] = []
    answers: dict[str, Outcome] = {}
    for wanted in changes:
        try:
            if named[wanted.user] > 1:
                raise Refused(
                    ErrorCode.DUPLICATE_RESOURCE, "A user's credentials cannot be altered twice in the same request"
                )
            if machine.image.metadata_version < MetadataVersion.RELEASE_0_2:
                raise Refused(
                    ErrorCode.UNSUPPORTED_VERSION, "The metadata.version of this cluster has no place for credentials"
                )
            records.append(_removed(machine, wanted) if isinstance(wanted, Deletion) else _set(wanted))
            answers[wanted.user] = DONE
        except Refused as refused:
            answers[wanted.user] = Outcome.of(refused)
    if machine.image.logins.secret is None and any(isinstance(each, r.ScramCredentialSet) for each in records):
        records.insert(0, r.LoginSecretSet(base64(new_secret)))
    return Decision(tuple(records), answers)


def credential_set(user: str, mechanism: ScramMechanism, credential: ScramCredential) -> r.ScramCredentialSet:
    return r.ScramCredentialSet(
        user,
        mechanism.wire_name,
        credential.iterations,
        base64(credential.salt),
        base64(credential.stored_key),
        base64(credential.server_key),
    )


def _removed(machine: ControllerMachine, wanted: Deletion) -> r.ScramCredentialRemoved:
    mechanism = _checked(wanted)
    if machine.image.logins.credential(mechanism.wire_name, wanted.user) is None:
        raise Refused(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    return r.ScramCredentialRemoved(wanted.user, mechanism.wire_name)


def _set(wanted: Upsertion) -> r.ScramCredentialSet:
    mechanism = _checked(wanted)
    if wanted.iterations < ITERATIONS_MIN:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if wanted.iterations > ITERATIONS_MAX:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not wanted.salted_password:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "The salted password is empty")
    credential = ScramCredential.of_salted_password(mechanism, wanted.salted_password, wanted.salt, wanted.iterations)
    return credential_set(wanted.user, mechanism, credential)


def _checked(wanted: Deletion | Upsertion) -> ScramMechanism:
    if not wanted.user:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    try:
        return ScramMechanism(wanted.mechanism)
    except ValueError:
        raise Refused(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism") from None
