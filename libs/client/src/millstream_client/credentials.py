"""How a client's properties secure its connections: Kafka's own names, as in the files that Kafka's tools take by --command-config."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from millstream_client.errors import InvalidData
from millstream_runtime.nodes.credentials import PLAIN, Credentials
from millstream_security.protocol import ListenerProperties, SecurityProtocol

if TYPE_CHECKING:
    from millstream_security.sasl.login import Login
    from millstream_security.tls.contexts import ClientTls

PROTOCOL = "security.protocol"


def credentials_of(properties: Mapping[str, str]) -> Credentials:
    """security.protocol and what belongs to it; every other property is somebody else's. Raises InvalidData."""
    text = properties.get(PROTOCOL, SecurityProtocol.PLAINTEXT.name)
    protocol = SecurityProtocol.named(text)
    if protocol is None:
        names = ", ".join(each.name for each in SecurityProtocol)
        raise InvalidData(f"{PROTOCOL} must be one of {names}, not {text!r}")
    if protocol is SecurityProtocol.PLAINTEXT:
        return PLAIN
    tls = _tls(properties) if protocol.uses_tls else None
    return Credentials(protocol, tls, _login(properties) if protocol.uses_sasl else None)


def credentials_by_password(properties: Mapping[str, str], mechanism: str, user: str, password: str) -> Credentials:
    """As `properties` say, but for who logs in: a person who has just typed this. Raises InvalidData."""
    from millstream_security.sasl.login import Login

    protocol = SecurityProtocol.named(properties.get(PROTOCOL, ""))
    if protocol is None or not protocol.uses_sasl:
        raise InvalidData(f"{PROTOCOL} must be one with SASL where somebody logs in")
    return Credentials(protocol, _tls(properties) if protocol.uses_tls else None, Login(mechanism, user, password))


def _login(properties: Mapping[str, str]) -> "Login":
    from millstream_security.sasl.errors import SaslConfigError
    from millstream_security.sasl.login import JAAS, MECHANISM, login_of

    try:
        return login_of(
            properties.get(MECHANISM, ""),
            properties.get(JAAS),
            mechanism_key=MECHANISM,
            jaas_key=JAAS,
            ask=properties.get,
        )
    except SaslConfigError as error:
        raise InvalidData(str(error)) from None


def _tls(properties: Mapping[str, str]) -> "ClientTls":
    from millstream_security.tls.contexts import ClientTls
    from millstream_security.tls.errors import TlsConfigError
    from millstream_security.tls.settings import TlsSettings

    try:
        return ClientTls("", TlsSettings.of(ListenerProperties("", properties.get)))
    except TlsConfigError as error:
        raise InvalidData(str(error)) from None
