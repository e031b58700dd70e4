"""The server's side of SCRAM: one sentence for every failure, and no difference before the end between a user and nobody."""

import hmac
from collections.abc import Callable

from millstream_cluster.principal import USER, Principal
from millstream_security.sasl.exchange import Accepted, Challenge, SaslRefused, ServerExchange, Step
from millstream_security.sasl.scram_mechanism import ScramCredential, ScramMechanism, base64, pretended_credential
from millstream_security.sasl.scram_messages import (
    ClientFinal,
    ClientFirst,
    ScramMalformed,
    ServerFirst,
)
from millstream_wire.late_dataclass import dataclass

TOKEN_AUTH = "tokenauth"


@dataclass(frozen=True, slots=True)
class TokenLogin:
    """What a delegation token opens."""

    owner: Principal
    credential: ScramCredential
    expires_at_ms: int


@dataclass(frozen=True, slots=True)
class ScramAccounts:
    """Where the server looks a name up."""

    credential_of: Callable[[ScramMechanism, str], ScramCredential | None]
    token_of: Callable[[ScramMechanism, str], TokenLogin | None]
    secret: Callable[[], bytes]
    """The same on every node of the cluster: what credentials are pretended from."""


class ScramServer(ServerExchange):
    def __init__(self, mechanism: ScramMechanism, accounts: ScramAccounts, nonce: str) -> None:
        """`nonce`: random, for this exchange alone; a replayed message fails by it."""
        self._mechanism = mechanism
        self._accounts = accounts
        self._own_nonce = nonce
        self._begun: _Begun | None = None
        self._over = False

    def step(self, token: bytes, now_ms: int) -> Step:
        if self._over:
            raise self._wrong()
        try:
            if self._begun is None:
                return self._begin(ClientFirst.read(token))
            self._over = True
            return self._end(self._begun, ClientFinal.read(token), now_ms)
        except ScramMalformed:
            self._over = True
            raise self._wrong() from None

    def _begin(self, first: ClientFirst) -> Challenge:
        self.user = first.user
        if first.authorized not in ("", first.user):
            self._over = True
            raise SaslRefused(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        token: TokenLogin | None = None
        if first.extensions.get(TOKEN_AUTH, "").lower() == "true":
            token = self._accounts.token_of(self._mechanism, first.user)
            found = None if token is None else token.credential
        else:
            found = self._accounts.credential_of(self._mechanism, first.user)
        # Always worked out, so that it takes as long for who exists.
        pretended = pretended_credential(self._mechanism, first.user, self._accounts.secret())
        credential = found or pretended
        answer = ServerFirst.of(first.nonce + self._own_nonce, credential.salt, credential.iterations)
        self._begun = _Begun(first, answer, credential, token, is_somebody=found is not None)
        return Challenge(answer.text.encode())

    def _end(self, begun: "_Begun", final: ClientFinal, now_ms: int) -> Accepted:
        mechanism, credential = self._mechanism, begun.credential
        # Equal, says the RFC; librdkafka up to 2.0 puts its own nonce in front once more, and Kafka lets it. The proof covers it.
        if not final.nonce.endswith(begun.answer.nonce):
            raise self._wrong()
        if not hmac.compare_digest(final.binding.encode(), base64(begun.first.gs2_header.encode()).encode()):
            raise self._wrong()
        message = f"{begun.first.bare},{begun.answer.text},{final.unproved}".encode()
        signature = mechanism.hmac(credential.stored_key, message)
        if len(final.proof) != len(signature):
            raise self._wrong()
        client_key = bytes(one ^ other for one, other in zip(final.proof, signature, strict=True))
        proved = hmac.compare_digest(mechanism.digest(client_key), credential.stored_key)
        if not (proved and begun.is_somebody):
            raise self._wrong()
        content = b"v=" + base64(mechanism.hmac(credential.server_key, message)).encode()
        if begun.token is not None:
            return Accepted(begun.token.owner, content, begun.token.expires_at_ms, by_token=True)
        return Accepted(Principal(USER, begun.first.user), content)

    def _wrong(self) -> SaslRefused:
        return SaslRefused(
            "Authentication failed during authentication due to invalid credentials with SASL mechanism "
            f"{self._mechanism.wire_name}"
        )


@dataclass(frozen=True, slots=True)
class _Begun:
    first: ClientFirst
    answer: ServerFirst
    credential: ScramCredential
    token: TokenLogin | None
    is_somebody: bool
