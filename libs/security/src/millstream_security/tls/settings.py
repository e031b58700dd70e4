"""ssl.* as one listener, or one client, has it: Kafka's names, read and checked; no file is opened yet."""

import ssl
from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from pathlib import Path

from millstream_security.protocol import ListenerProperties
from millstream_security.tls.errors import TlsConfigError
from millstream_security.tls.principal_rules import KEY as RULES
from millstream_security.tls.principal_rules import PrincipalRules
from millstream_security.tls.stores import Store, read_type
from millstream_wire.late_dataclass import dataclass

_VERSIONS: Mapping[str, ssl.TLSVersion] = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_PROTOCOLS = "ssl.enabled.protocols"
_SUITES = "ssl.cipher.suites"
_CLIENT_AUTH = "ssl.client.auth"
_IDENTIFICATION = "ssl.endpoint.identification.algorithm"


class ClientAuth(Enum):
    """Whether who connects has to show a certificate; a bad one is refused in either case but the first."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class TlsSettings:
    keystore: Store | None
    """ssl.keystore.*: who we are."""
    truststore: Store | None
    """ssl.truststore.*: whose certificates we believe; without one, for servers that we connect to, the system's authorities."""
    client_auth: ClientAuth = ClientAuth.NONE
    versions: tuple[ssl.TLSVersion, ssl.TLSVersion] = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    """ssl.enabled.protocols: the oldest and the newest."""
    suites: tuple[str, ...] = ()
    """ssl.cipher.suites; none: as OpenSSL sees fit."""
    suites_key: str = _SUITES
    verifies_names: bool = True
    """ssl.endpoint.identification.algorithm: whether a server's certificate has to name the host that we connect to."""
    rules: PrincipalRules = field(default_factory=PrincipalRules)
    """ssl.principal.mapping.rules"""

    @staticmethod
    def of(properties: ListenerProperties) -> "TlsSettings":
        """Raises TlsConfigError."""
        identification = properties.get(_IDENTIFICATION)
        if identification not in (None, "", "https", "HTTPS"):
            raise TlsConfigError(f"{properties.key_of(_IDENTIFICATION)} must be https or empty, not {identification!r}")
        suites = properties.get(_SUITES) or ""
        return TlsSettings(
            keystore=_keystore(properties),
            truststore=_truststore(properties),
            client_auth=_client_auth(properties),
            versions=_versions(properties),
            suites=tuple(each.strip() for each in suites.split(",") if each.strip()),
            suites_key=properties.key_of(_SUITES),
            verifies_names=identification != "",
            rules=PrincipalRules.parse(properties.get(RULES) or "DEFAULT", properties.key_of(RULES)),
        )


def _keystore(properties: ListenerProperties) -> Store | None:
    location, key, chain = (properties.get(f"ssl.keystore.{part}") for part in ("location", "key", "certificate.chain"))
    kind = read_type(properties.get("ssl.keystore.type"), properties.key_of("ssl.keystore.type"))
    password, key_password = properties.get("ssl.keystore.password"), properties.get("ssl.key.password")
    if location is not None:
        if key is not None or chain is not None:
            raise TlsConfigError(
                f"{properties.key_of('ssl.keystore.location')} and ssl.keystore.key exclude each other: set one of them"
            )
        return Store(
            properties.key_of("ssl.keystore.location"),
            kind,
            Path(location),
            password=password,
            password_key=properties.key_of("ssl.keystore.password"),
            key_password=key_password,
            key_password_key=properties.key_of("ssl.key.password"),
        )
    if key is None and chain is None:
        return None
    if key is None or chain is None:
        missing = "ssl.keystore.key" if key is None else "ssl.keystore.certificate.chain"
        raise TlsConfigError(f"{missing} must be set too: a private key and its certificates belong together")
    return Store(
        properties.key_of("ssl.keystore.key"),
        "PEM",
        inline=f"{key}\n{chain}",
        key_password=key_password,
        key_password_key=properties.key_of("ssl.key.password"),
    )


def _truststore(properties: ListenerProperties) -> Store | None:
    location, inline = properties.get("ssl.truststore.location"), properties.get("ssl.truststore.certificates")
    kind = read_type(properties.get("ssl.truststore.type"), properties.key_of("ssl.truststore.type"))
    password = properties.get("ssl.truststore.password")
    password_key = properties.key_of("ssl.truststore.password")
    if location is not None:
        key = properties.key_of("ssl.truststore.location")
        if inline is not None:
            raise TlsConfigError(f"{key} and ssl.truststore.certificates exclude each other: set one of them")
        return Store(key, kind, Path(location), password=password, password_key=password_key)
    if inline is None:
        return None
    return Store(properties.key_of("ssl.truststore.certificates"), "PEM", inline=inline)


def _client_auth(properties: ListenerProperties) -> ClientAuth:
    text = properties.get(_CLIENT_AUTH) or "none"
    if text not in {each.value for each in ClientAuth}:
        raise TlsConfigError(f"{properties.key_of(_CLIENT_AUTH)} must be none, requested or required, not {text!r}")
    return ClientAuth(text)


def _versions(properties: ListenerProperties) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    text = properties.get(_PROTOCOLS)
    names = [each.strip() for each in (text or "TLSv1.2,TLSv1.3").split(",") if each.strip()]
    unknown = [name for name in names if name not in _VERSIONS]
    if unknown or not names:
        raise TlsConfigError(
            f"{properties.key_of(_PROTOCOLS)} must name TLSv1.2, TLSv1.3 or both, not {', '.join(unknown) or 'nothing'}"
        )
    found = sorted(_VERSIONS[name] for name in names)
    return found[0], found[-1]
