"""Who may log in at this node, as the metadata says it: SCRAM credentials and delegation tokens."""

from base64 import b64decode
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from millstream_cluster.image import Image
from millstream_cluster.principal import Principal
from millstream_runtime.world import World
from millstream_security.sasl.scram_mechanism import ScramCredential, ScramMechanism

if TYPE_CHECKING:
    from millstream_security.sasl.scram_server import TokenLogin

TOKENS_KEPT_MAX = 1_000
SECRET_BYTES = 32


class Accounts:
    def __init__(
        self,
        world: World,
        image: Callable[[], Image | None],
        until_known: Callable[[], Awaitable[object]],
        token_secret: str | None = None,
    ) -> None:
        """`until_known` returns once the image says anything: a node that has none yet knows nobody, and lets clients wait.

        `token_secret`: delegation.token.secret.key.
        """
        self._image = image
        self.until_known = until_known
        self._token_secret = token_secret
        self._random = world.random
        self._own_secret: bytes | None = None
        """For as long as the cluster has no credential, and so no secret either."""
        self._token_credentials: dict[tuple[ScramMechanism, str], ScramCredential] = {}

    @property
    def known(self) -> bool:
        return self._image() is not None

    def credential_of(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        image = self._image()
        found = None if image is None else image.logins.credential(mechanism.wire_name, user)
        if found is None:
            return None
        return ScramCredential(
            b64decode(found.salt), b64decode(found.stored_key), b64decode(found.server_key), found.iterations
        )

    def token_of(self, mechanism: ScramMechanism, token_id: str) -> "TokenLogin | None":
        image = self._image()
        found = None if image is None else image.logins.tokens.get(token_id)
        if found is None or self._token_secret is None:
            return None
        from millstream_security.sasl.scram_server import TokenLogin  # what nobody needs where nobody logs in

        kind, _, name = found.owner.partition(":")
        credential = self._token_credential(mechanism, self._token_secret, token_id)
        return TokenLogin(Principal(kind, name), credential, found.expires_ms)

    def secret(self) -> bytes:
        image = self._image()
        secret = None if image is None else image.logins.secret
        if secret is not None:
            return b64decode(secret)
        if self._own_secret is None:
            self._own_secret = self._random.getrandbits(8 * SECRET_BYTES).to_bytes(SECRET_BYTES, "big")
        return self._own_secret

    def _token_credential(self, mechanism: ScramMechanism, secret: str, token_id: str) -> ScramCredential:
        key = mechanism, token_id
        known = self._token_credentials.get(key)
        if known is None:
            from millstream_security.sasl.delegation_tokens import token_credential  # likewise

            if len(self._token_credentials) >= TOKENS_KEPT_MAX:
                del self._token_credentials[next(iter(self._token_credentials))]
            known = self._token_credentials[key] = token_credential(mechanism, secret, token_id)
        return known
