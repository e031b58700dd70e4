"""How a client's properties secure its connections: Kafka's own names, as in the files that Kafka's tools take by --command-config."""

from collections.abc import Mapping

from millstream_client.errors import InvalidData
from millstream_runtime.nodes.credentials import PLAIN, Credentials
from millstream_security.protocol import ListenerProperties, SecurityProtocol

_PROTOCOL = "security.protocol"


def credentials_of(properties: Mapping[str, str]) -> Credentials:
    """security.protocol and what belongs to it; every other property is somebody else's. Raises InvalidData."""
    text = properties.get(_PROTOCOL, SecurityProtocol.PLAINTEXT.name)
    protocol = SecurityProtocol.named(text)
    if protocol is None:
        names = ", ".join(each.name for each in SecurityProtocol)
        raise InvalidData(f"{_PROTOCOL} must be one of {names}, not {text!r}")
    if protocol is SecurityProtocol.PLAINTEXT:
        return PLAIN
    if not protocol.uses_tls:
        return Credentials(protocol)
    from millstream_security.tls.contexts import ClientTls
    from millstream_security.tls.errors import TlsConfigError
    from millstream_security.tls.settings import TlsSettings

    try:
        return Credentials(protocol, ClientTls("", TlsSettings.of(ListenerProperties("", properties.get))))
    except TlsConfigError as error:
        raise InvalidData(str(error)) from None
