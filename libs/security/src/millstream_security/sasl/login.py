"""What this process shows of itself where it is the client: to other nodes, or to any Kafka that a tool of ours talks to."""

from collections.abc import Callable, Mapping
from dataclasses import field

from millstream_security.sasl.errors import SaslConfigError
from millstream_security.sasl.exchange import ClientExchange
from millstream_security.sasl.jaas import JaasError, LoginModule, parse_jaas
from millstream_security.sasl.oauthbearer import OAUTHBEARER, OAuthBearerClient
from millstream_security.sasl.plain import PLAIN, PlainClient
from millstream_security.sasl.scram_client import ScramClient
from millstream_security.sasl.scram_mechanism import SCRAM_NAMES
from millstream_security.sasl.scram_server import TOKEN_AUTH
from millstream_wire.late_dataclass import dataclass

MODULES: Mapping[str, str] = {
    PLAIN: "PlainLoginModule",
    **dict.fromkeys(SCRAM_NAMES, "ScramLoginModule"),
    OAUTHBEARER: "OAuthBearerLoginModule",
}
"""Kafka's login module of each mechanism."""
MECHANISM = "sasl.mechanism"
JAAS = "sasl.jaas.config"
TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"
_FILE = "file:"


@dataclass(frozen=True, slots=True)
class Login:
    mechanism: str
    user: str = ""
    password: str = field(default="", repr=False)
    by_token: bool = False
    """`user` is the id of a delegation token."""
    bearer_file: str | None = None
    """Where the bearer token is, which whoever issues it may replace."""

    def exchange(self, nonce: str, bearer: str) -> ClientExchange:
        """`nonce`: random; `bearer`: what is in the file now."""
        if self.mechanism == PLAIN:
            return PlainClient(self.user, self.password)
        if self.mechanism == OAUTHBEARER:
            return OAuthBearerClient(bearer)
        extensions = {TOKEN_AUTH: "true"} if self.by_token else {}
        return ScramClient(SCRAM_NAMES[self.mechanism], self.user, self.password, nonce, extensions)


def module_of(mechanism: str, jaas: str, key: str) -> LoginModule:
    """The login module that `key` names, which has to be the mechanism's."""
    try:
        module = parse_jaas(jaas)
    except JaasError as error:
        raise SaslConfigError(f"{key}: {error}") from None
    if module.short_name != MODULES[mechanism]:
        raise SaslConfigError(
            f"{key} must name {MODULES[mechanism]}, which {mechanism} is for, not {module.short_name}"
        )
    return module


def login_of(
    mechanism: str, jaas: str | None, *, mechanism_key: str, jaas_key: str, ask: Callable[[str], str | None]
) -> Login:
    """By the values of these keys; `ask` for what else there is to know. Raises SaslConfigError."""
    if mechanism not in MODULES:
        raise SaslConfigError(f"{mechanism_key} must be one of {', '.join(MODULES)}, not {mechanism!r}")
    if mechanism == OAUTHBEARER:
        url = ask(TOKEN_URL) or ""
        if not url.startswith(_FILE):
            raise SaslConfigError(f"{TOKEN_URL} must be file:PATH, where the bearer token is")
        return Login(mechanism, bearer_file="/" + url[len(_FILE) :].lstrip("/"))
    if jaas is None:
        raise SaslConfigError(f'{jaas_key} must be set: {MODULES[mechanism]} required username="..." password="...";')
    options = module_of(mechanism, jaas, jaas_key).options
    for option in ("username", "password"):
        if not options.get(option):
            raise SaslConfigError(f"{jaas_key} must have a {option}, by which this process logs in")
    by_token = options.get(TOKEN_AUTH, "").lower() == "true"
    return Login(mechanism, options["username"], options["password"], by_token)
