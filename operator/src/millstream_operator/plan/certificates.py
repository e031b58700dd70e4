"""Which authority a cluster has next, and which of its nodes' certificates are due for another. Pure but for the keys that it makes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from millstream_operator.certificates.authority import Authority, BadAuthority
from millstream_operator.certificates.issue import Issued, Wanted, is_due, issue

ROTATE = "millstream.dev/rotate"
"""An annotation of a Cluster: whenever its value is another, there is another authority."""
ROTATED = "millstream.dev/rotated"
"""The value that was last followed, on the authority's Secret."""
KEYSTORE, TRUST, USERS_TRUST = "keystore.pem", "ca.crt", "users-ca.crt"


@dataclass(frozen=True, slots=True)
class Lives:
    """How long things are valid for."""

    authority: timedelta
    certificate: timedelta
    renew_before: timedelta

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> "Lives":
        asked = (spec.get("security") or {}).get("certificates") or {}
        return cls(
            authority=timedelta(days=int(asked.get("authorityValidityDays", 3650))),
            certificate=timedelta(days=int(asked.get("validityDays", 90))),
            renew_before=timedelta(days=int(asked.get("renewBeforeDays", 30))),
        )


def next_authority(
    name: str,
    kept: Authority | None,
    *,
    brought: Authority | None,
    is_asked_to_rotate: bool,
    lives: Lives,
    now: datetime,
) -> Authority:
    """The same one if nothing is due. `brought`: the one that somebody else provides, and renews."""
    if kept is None:
        return brought or Authority.new(name, now, lives.authority)
    if brought is not None:
        if brought.certificate == kept.certificate:
            return kept.without_expired(now)
        return kept.succeeded_by(brought, now)
    lifetime = kept.certificate.not_valid_after_utc - kept.certificate.not_valid_before_utc
    # What it issues may not outlive it, so it is succeeded while a whole life of a certificate is left.
    early = min(lives.certificate + lives.renew_before, lifetime / 3)
    if is_asked_to_rotate or kept.ends_within(early, now):
        return kept.succeeded_by(Authority.new(name, now, lives.authority), now)
    return kept.without_expired(now)


def node_files(
    found: Mapping[str, bytes], wanted: Wanted, nodes: Authority, users: Authority, lives: Lives, now: datetime
) -> dict[str, bytes]:
    """What the Secret of a role shall hold: what it holds, if nothing is due."""
    issued: Issued | None
    try:
        issued = Issued.of_keystore(found.get(KEYSTORE, b""))
    except BadAuthority:
        issued = None
    if issued is None or is_due(issued, nodes, wanted, now, lives.renew_before):
        issued = issue(nodes, wanted, now, lives.certificate)
    return {KEYSTORE: issued.keystore, TRUST: nodes.trust, USERS_TRUST: users.trust}
