"""What delegation tokens are made with: delegation.token.*."""

from dataclasses import field

from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TokenSettings:
    secret_key: str | None = field(default=None, repr=False)
    """delegation.token.secret.key: the same on every node; None: there are no tokens."""
    max_lifetime_ms: int = 7 * 24 * 3_600_000
    """delegation.token.max.lifetime.ms"""
    expiry_ms: int = 24 * 3_600_000
    """delegation.token.expiry.time.ms: how long a token holds unless it is renewed."""
    check_interval_ms: int = 3_600_000
    """delegation.token.expiry.check.interval.ms"""
