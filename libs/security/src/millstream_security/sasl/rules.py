"""What one listener asks of logins, beside who may: mechanisms, limits and times."""

from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SaslRules:
    mechanisms: tuple[str, ...]
    """sasl.enabled.mechanisms, in the order in which clients are told them."""
    reauthenticate_ms: int = 0
    """connections.max.reauth.ms: how long a login lasts; 0: as long as what the client showed."""
    receive_max_bytes: int = 512 * 1024
    """sasl.server.max.receive.size: of a frame before the login."""
    failure_delay_ms: int = 100
    """connection.failed.authentication.delay.ms: how long a refusal is held back."""
    timeout_ms: int = 30_000
    """A client that has not logged in after this time holds the connection for nothing."""
