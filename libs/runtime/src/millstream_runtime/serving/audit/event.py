"""One thing that the audit log says: who, from where, what, on what, and what the answer was."""

from enum import Enum

from millstream_cluster.principal import ANONYMOUS
from millstream_wire.late_dataclass import dataclass

TEXT_MAX = 512
"""Characters of one value; names that clients choose may be longer."""


class AuditKind(Enum):
    """The values are the last part of the logger's name, and what a record of the audit topic says."""

    AUTHENTICATION = "authentication"
    AUTHORIZATION = "authorization"
    ADMINISTRATION = "administration"


@dataclass(frozen=True, slots=True)
class AuditEvent:
    kind: AuditKind
    what: str
    principal: str
    host: str
    fields: tuple[tuple[str, str], ...]
    """What else is to be said, in this order; nothing that differs each time, or repetitions are not seen."""
    is_kept: bool = False
    """Each one counts, repeated or not: somebody has changed something."""

    @staticmethod
    def of(
        kind: AuditKind, what: str, principal: str, host: str, *fields: tuple[str, str], is_kept: bool = False
    ) -> "AuditEvent":
        """No longer than somebody reads, whatever names there are."""
        short = tuple((name, _shortened(value)) for name, value in fields)
        return AuditEvent(kind, what, _shortened(principal), host, short, is_kept)

    @property
    def line(self) -> str:
        values = (("principal", self.principal), ("host", self.host), *self.fields)
        return " ".join([self.what, *(f"{name}={_one_word(value)}" for name, value in values)])


def handshake_failed(listener: str, peer: str, reason: str) -> AuditEvent:
    """TLS lets somebody not in, of whom nothing is known but where he comes from."""
    host, fields = peer.rpartition(":")[0], (("listener", listener), ("reason", reason.replace(" ", "_")))
    return AuditEvent.of(AuditKind.AUTHENTICATION, "handshake failed", str(ANONYMOUS), host, *fields)


def _shortened(text: str) -> str:
    """The beginning of what is longer, and how long it was."""
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}...({len(text)})"


def _one_word(text: str) -> str:
    """What anybody may have chosen is one word on one line."""
    return text if text and text.isprintable() and " " not in text else repr(text)
