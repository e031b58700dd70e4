"""What a test asks for: how many brokers, which settings, who may log in."""

from collections.abc import Mapping
from dataclasses import field

from millstream_wire.late_dataclass import dataclass

UNWANTED = frozenset(',"[]\\')
"""What would have to be written differently in each client's configuration."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """`Wanted()` is one broker, plain and open."""

    brokers: int = 1
    tls: bool = False
    users: Mapping[str, str] = field(default_factory=dict)
    """Passwords by name; they log in by SCRAM-SHA-256."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Kafka's broker properties, for all brokers."""

    def __post_init__(self) -> None:
        if self.brokers < 1:
            raise ValueError(f"a cluster has at least one broker, not {self.brokers}")
        for text in (*self.users, *self.users.values()):
            if not text or set(text) & UNWANTED:
                raise ValueError(f"names and passwords are not empty and have none of {' '.join(sorted(UNWANTED))}")

    @property
    def protocol(self) -> str:
        return f"{'SASL_' if self.users else ''}{'SSL' if self.tls else 'PLAINTEXT'}"

    @property
    def key(self) -> tuple[object, ...]:
        """The same for those that want the same."""
        return self.brokers, self.tls, tuple(sorted(self.users.items())), tuple(sorted(self.settings.items()))
