"""Which credentials a listener asks for, and the settings that are its own. Pure, and all that a plain listener needs of this library."""

from collections.abc import Callable
from dataclasses import field
from enum import IntEnum

from millstream_wire.late_dataclass import dataclass


class SecurityProtocol(IntEnum):
    """With Kafka's numbers, which registrations of nodes carry."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def uses_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def uses_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)

    @staticmethod
    def named(text: str) -> "SecurityProtocol | None":
        """Kafka takes these names in any case."""
        return SecurityProtocol.__members__.get(text.upper())


class ListenerProperties:
    """Settings as one listener has them: `listener.name.<lower case name>.KEY`, else `KEY`."""

    def __init__(self, listener: str, ask: Callable[[str], str | None]) -> None:
        """`ask` is Properties.optional, which thereby learns that both forms of a key are known here."""
        self._prefix = f"listener.name.{listener.lower()}."
        self._ask = ask

    def get(self, key: str) -> str | None:
        own, common = self._ask(self._prefix + key), self._ask(key)
        return common if own is None else own

    def own(self, key: str) -> str | None:
        """Of this listener alone, for what Kafka does not let all listeners share."""
        return self._ask(self._prefix + key)

    def key_of(self, key: str) -> str:
        """The name under which a value was found, or would be: what a message about it should say."""
        return self._prefix + key if self._ask(self._prefix + key) is not None else key


def _nothing(key: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """One listener, the protocol that it speaks, and its settings (passwords among them: never shown)."""

    name: str
    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    properties: ListenerProperties = field(
        default_factory=lambda: ListenerProperties("", _nothing), repr=False, compare=False
    )

    @property
    def is_plain(self) -> bool:
        """Whether nobody has to prove anything here."""
        return self.protocol is SecurityProtocol.PLAINTEXT
