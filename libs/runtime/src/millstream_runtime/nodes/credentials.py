"""What a node does to be let in where it connects to others: TLS or none, a login or none, and in whose name."""

from typing import TYPE_CHECKING

from millstream_runtime.network.links import Wrap
from millstream_security.protocol import SecurityProtocol
from millstream_wire.late_dataclass import dataclass

if TYPE_CHECKING:
    from millstream_security.sasl.login import Login
    from millstream_security.tls.contexts import ClientTls


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of one kind of connection: to brokers and coordinators, to controllers, or a client's."""

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    tls: "ClientTls | None" = None
    login: "Login | None" = None

    def wrap(self, server_name: str) -> Wrap | None:
        """For connections to a server whose certificate has to be of this name; None where they are not encrypted."""
        tls = self.tls
        if tls is None:
            return None
        return lambda incoming, outgoing: tls.wrap(incoming, outgoing, server_name)


PLAIN = Credentials()
"""Nothing is asked for, nothing shown."""
