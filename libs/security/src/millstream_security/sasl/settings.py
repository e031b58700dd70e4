"""sasl.* as one listener has it: Kafka's names, read and checked; no file is opened here."""

from collections.abc import Mapping
from dataclasses import field

from millstream_security.protocol import ListenerProperties
from millstream_security.sasl.errors import SaslConfigError
from millstream_security.sasl.login import MODULES, module_of
from millstream_security.sasl.oauthbearer import OAUTHBEARER
from millstream_security.sasl.plain import PLAIN
from millstream_security.sasl.rules import SaslRules
from millstream_wire.late_dataclass import dataclass

MECHANISMS = "sasl.enabled.mechanisms"
USERS_FILE = "plain.users.file"
JWKS_URL = "sasl.oauthbearer.jwks.endpoint.url"
_USER = "user_"


@dataclass(frozen=True, slots=True)
class BearerSettings:
    """sasl.oauthbearer.*"""

    keys_url: str
    """jwks.endpoint.url: file:PATH or https://..."""
    keys_refresh_ms: int
    """jwks.endpoint.refresh.ms"""
    truststore: str | None
    """ssl.truststore.location, for an issuer whose certificate no system knows."""
    audiences: tuple[str, ...]
    issuer: str | None
    skew_ms: int
    scope_claim: str
    subject_claim: str


@dataclass(frozen=True, slots=True)
class SaslSettings:
    rules: SaslRules
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Passwords of PLAIN by name: user_NAME in `listener.name.NAME.plain.sasl.jaas.config`."""
    users_file: str | None = None
    """plain.users.file: more of them, one `name=password` a line, read again when it changes."""
    bearer: BearerSettings | None = None

    @staticmethod
    def of(properties: ListenerProperties) -> "SaslSettings":
        """Raises SaslConfigError."""
        mechanisms = _mechanisms(properties)
        return SaslSettings(
            rules=SaslRules(
                mechanisms,
                _number(properties, "connections.max.reauth.ms", 0),
                _number(properties, "sasl.server.max.receive.size", 512 * 1024),
                _number(properties, "connection.failed.authentication.delay.ms", 100),
            ),
            users=_users(properties),
            users_file=properties.get(USERS_FILE),
            bearer=_bearer(properties) if OAUTHBEARER in mechanisms else None,
        )


def jaas_key(mechanism: str) -> str:
    return f"{mechanism.lower()}.sasl.jaas.config"


def _mechanisms(properties: ListenerProperties) -> tuple[str, ...]:
    found = tuple(each.strip() for each in (properties.get(MECHANISMS) or "").split(",") if each.strip())
    unknown = [each for each in found if each not in MODULES]
    if unknown or not found:
        wrong = f", not {', '.join(unknown)}" if unknown else ""
        raise SaslConfigError(f"{properties.key_of(MECHANISMS)} must name some of {', '.join(MODULES)}{wrong}")
    for mechanism in found:
        key = jaas_key(mechanism)
        text = properties.own(key)
        if text is not None:
            module_of(mechanism, text, properties.key_of(key))
    return found


def _users(properties: ListenerProperties) -> dict[str, str]:
    key = jaas_key(PLAIN)
    text = properties.own(key)
    if text is None:
        return {}
    options = module_of(PLAIN, text, properties.key_of(key)).options
    return {name.removeprefix(_USER): password for name, password in options.items() if name.startswith(_USER)}


def _bearer(properties: ListenerProperties) -> BearerSettings:
    url = properties.get(JWKS_URL) or ""
    if not url.startswith(("file:/", "https://")):
        raise SaslConfigError(
            f"{properties.key_of(JWKS_URL)} must be file:/PATH or https://..., where the issuer's public keys are"
        )
    audiences = properties.get("sasl.oauthbearer.expected.audience") or ""
    return BearerSettings(
        keys_url=url,
        keys_refresh_ms=_number(properties, "sasl.oauthbearer.jwks.endpoint.refresh.ms", 3_600_000, least=1),
        truststore=properties.get("ssl.truststore.location"),
        audiences=tuple(each.strip() for each in audiences.split(",") if each.strip()),
        issuer=properties.get("sasl.oauthbearer.expected.issuer"),
        skew_ms=_number(properties, "sasl.oauthbearer.clock.skew.seconds", 30) * 1000,
        scope_claim=properties.get("sasl.oauthbearer.scope.claim.name") or "scope",
        subject_claim=properties.get("sasl.oauthbearer.sub.claim.name") or "sub",
    )


def _number(properties: ListenerProperties, key: str, default: int, *, least: int = 0) -> int:
    text = properties.get(key)
    if text is None:
        return default
    if not text.isdecimal() or int(text) < least:
        raise SaslConfigError(f"{properties.key_of(key)} must be a whole number of at least {least}, not {text!r}")
    return int(text)
