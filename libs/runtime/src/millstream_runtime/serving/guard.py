"""What a listener asks of whoever comes, and in whose name they act before they have said anything."""

from dataclasses import field
from typing import TYPE_CHECKING

from millstream_cluster.principal import USER, Principal
from millstream_runtime.network.links import Unwelcome
from millstream_runtime.serving.peer import ANONYMOUS_CLIENT, ClientPeer, Peer
from millstream_security.protocol import ListenerSecurity
from millstream_wire.late_dataclass import dataclass

if TYPE_CHECKING:
    from millstream_security.sasl.settings import SaslSettings
    from millstream_security.tls.contexts import ServerTls


@dataclass(frozen=True, slots=True)
class Guard:
    """One per listener."""

    security: ListenerSecurity = field(default_factory=lambda: ListenerSecurity(""))
    tls: "ServerTls | None" = None
    sasl: "SaslSettings | None" = None

    @property
    def is_set(self) -> bool:
        """Whether anybody can show who they are: TLS alone only encrypts, and leaves everybody as anonymous as a plain listener."""
        return self.security.protocol.uses_sasl or (self.tls is not None and self.tls.asks_for_certificates)

    def peer_of(self, certificate: bytes | None) -> Peer:
        """Who somebody is by a certificate that TLS has verified, or by none. Raises Unwelcome.

        Where SASL follows it decides alone.
        """
        if certificate is None or self.tls is None or self.security.protocol.uses_sasl:
            return ANONYMOUS_CLIENT
        from millstream_security.tls.principal_rules import NoRuleMatches
        from millstream_security.tls.subject import UnreadableSubject, subject_of

        try:
            name = self.tls.settings.rules.name_of(subject_of(certificate))
        except (NoRuleMatches, UnreadableSubject) as error:
            raise Unwelcome(str(error)) from None
        return ClientPeer(Principal(USER, name))


NO_GUARD = Guard()
"""Of a listener that takes everybody for what they say they are."""
