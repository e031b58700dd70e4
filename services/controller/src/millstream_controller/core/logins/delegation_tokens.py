"""Create-, Renew- and ExpireDelegationToken as decisions, and the sweep of those that are over.

A token's HMAC is worked out of its id and a secret that all nodes have, so that no log holds it. Only owners and renewers
change a token's end, super users or not.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import islice

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.image import Image
from millstream_cluster.metadata_version import MetadataVersion
from millstream_cluster.principal import USER, Principal
from millstream_controller.core.logins.token_settings import TokenSettings
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import Refused
from millstream_security.sasl.delegation_tokens import token_hmac
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

SWEPT_MAX = 1_000
"""Tokens that one decision removes."""


class TokenIds:
    """Ids by HMAC, of the tokens that there are: worked out when somebody asks, and once for each."""

    def __init__(self) -> None:
        self._hmacs: dict[str, bytes] = {}

    def find(self, image: Image, secret_key: str, hmac: bytes) -> r.DelegationTokenSet | None:
        tokens = image.logins.tokens
        for token_id in self._hmacs.keys() - tokens.keys():
            del self._hmacs[token_id]
        for token_id in tokens.keys() - self._hmacs.keys():
            self._hmacs[token_id] = token_hmac(secret_key, token_id)
        return next((tokens[token_id] for token_id, each in self._hmacs.items() if each == hmac), None)


@dataclass(frozen=True, slots=True)
class Made:
    token: r.DelegationTokenSet
    hmac: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NewToken:
    owner: Principal
    requester: Principal
    renewers: Sequence[Principal]
    max_lifetime_ms: int


def create_token(
    machine: ControllerMachine, settings: TokenSettings, wanted: NewToken, token_id: str, now_ms: int
) -> Decision[r.MetadataRecord, Made]:
    """Raises Refused. `token_id`: random."""
    secret_key = _secret_key(machine, settings)
    if any(each.type != USER for each in wanted.renewers):
        raise Refused(ErrorCode.INVALID_PRINCIPAL_TYPE)
    lifetime_ms = settings.max_lifetime_ms
    if wanted.max_lifetime_ms > 0:
        lifetime_ms = min(lifetime_ms, wanted.max_lifetime_ms)
    max_ms = now_ms + lifetime_ms
    token = r.DelegationTokenSet(
        token_id=token_id,
        owner=str(wanted.owner),
        requester=str(wanted.requester),
        renewers=tuple(map(str, wanted.renewers)),
        issued_ms=now_ms,
        expires_ms=min(max_ms, now_ms + settings.expiry_ms),
        max_ms=max_ms,
    )
    return Decision((token,), Made(token, token_hmac(secret_key, token_id)))


@dataclass(frozen=True, slots=True)
class TokenChange:
    asker: Principal
    hmac: bytes = field(repr=False)
    period_ms: int


def renew_token(
    machine: ControllerMachine, settings: TokenSettings, ids: TokenIds, wanted: TokenChange, now_ms: int
) -> Decision[r.MetadataRecord, int]:
    """When it expires now; raises Refused. A negative period is the usual one."""
    token = _theirs(machine, settings, ids, wanted)
    if _is_over(token, now_ms):
        raise Refused(ErrorCode.DELEGATION_TOKEN_EXPIRED)
    period_ms = settings.expiry_ms if wanted.period_ms < 0 else wanted.period_ms
    expires_ms = min(token.max_ms, now_ms + period_ms)
    return Decision((replace(token, expires_ms=expires_ms),), expires_ms)


def expire_token(
    machine: ControllerMachine, settings: TokenSettings, ids: TokenIds, wanted: TokenChange, now_ms: int
) -> Decision[r.MetadataRecord, int]:
    """When it expires now; raises Refused. A negative period takes the token away at once."""
    token = _theirs(machine, settings, ids, wanted)
    if wanted.period_ms < 0:
        return Decision((r.DelegationTokenRemoved(token.token_id),), now_ms)
    if _is_over(token, now_ms):
        raise Refused(ErrorCode.DELEGATION_TOKEN_EXPIRED)
    expires_ms = min(token.max_ms, now_ms + wanted.period_ms)
    return Decision((replace(token, expires_ms=expires_ms),), expires_ms)


def sweep_tokens(machine: ControllerMachine, now_ms: int) -> Decision[r.MetadataRecord, int]:
    """How many of those that are over this removes."""
    over = (token for token in machine.image.logins.tokens.values() if _is_over(token, now_ms))
    records = tuple(r.DelegationTokenRemoved(token.token_id) for token in islice(over, SWEPT_MAX))
    return Decision(records, len(records))


def _is_over(token: r.DelegationTokenSet, now_ms: int) -> bool:
    return min(token.expires_ms, token.max_ms) <= now_ms


def _secret_key(machine: ControllerMachine, settings: TokenSettings) -> str:
    if settings.secret_key is None:
        raise Refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    if machine.image.metadata_version < MetadataVersion.RELEASE_0_2:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    return settings.secret_key


def _theirs(
    machine: ControllerMachine, settings: TokenSettings, ids: TokenIds, wanted: TokenChange
) -> r.DelegationTokenSet:
    token = ids.find(machine.image, _secret_key(machine, settings), wanted.hmac)
    if token is None:
        raise Refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
    if str(wanted.asker) not in (token.owner, *token.renewers):
        raise Refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
    return token
