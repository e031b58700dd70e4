"""Logs a connection of ours in by SASL: the handshake, then the mechanism's tokens, each in a request."""

from pathlib import Path
from typing import TYPE_CHECKING

from millstream_runtime.nodes.client import LoginFailed
from millstream_runtime.world import World
from millstream_security.sasl.exchange import SaslRefused
from millstream_security.sasl.login import Login
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

if TYPE_CHECKING:
    from millstream_runtime.nodes.client import Client

_NONCE_BITS = 130
_STEPS_MAX = 4


async def log_in(client: "Client", login: Login, world: World, *, timeout_ms: int) -> int:
    """For how many milliseconds the server lets this count, 0 if for good. Raises LoginFailed."""
    answer: SaslHandshakeResponse = await client.request(
        SaslHandshakeRequest(mechanism=login.mechanism), timeout_ms=timeout_ms, version=1
    )
    if answer.error_code != ErrorCode.NONE:
        offered = ", ".join(answer.mechanisms) or "none"
        raise LoginFailed(f"{client.peer}: the server does not take {login.mechanism}; it offers {offered}")
    bearer = await world.run_blocking(lambda: _bearer(login))
    exchange = login.exchange(f"{world.random.getrandbits(_NONCE_BITS):x}", bearer)
    token: bytes | None = exchange.first()
    for _ in range(_STEPS_MAX):
        step: SaslAuthenticateResponse = await client.request(
            SaslAuthenticateRequest(auth_bytes=token or b""), timeout_ms=timeout_ms
        )
        if step.error_code != ErrorCode.NONE:
            raise LoginFailed(f"{client.peer}: {step.error_message or ErrorCode(step.error_code).name}")
        challenge = bytes(step.auth_bytes)
        try:
            token = await world.run_blocking(lambda: exchange.step(challenge))  # noqa: B023 -- awaited here; milliseconds
        except SaslRefused as refused:
            raise LoginFailed(f"{client.peer}: {refused}") from None
        if token is None:
            return step.session_lifetime_ms
    raise LoginFailed(f"{client.peer}: the login does not come to an end")


def _bearer(login: Login) -> str:
    if login.bearer_file is None:
        return ""
    try:
        return Path(login.bearer_file).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LoginFailed(f"the bearer token cannot be read: {error}") from None
