"""Where the keys of bearer tokens come from: a file that changes, an issuer over https, and one that is not there."""

import asyncio
import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest
from certificates import Authority
from cryptography.hazmat.primitives.asymmetric import ec

from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.serving import bearer_keys
from millstream_runtime.serving.bearer_keys import BearerKeys
from millstream_runtime.world import RealWorld
from millstream_security.sasl.oauthbearer import InvalidToken
from millstream_security.sasl.settings import BearerSettings

NOW_S = 1_700_000_000
KEY, NEXT_KEY = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))


def key_set(**keys: ec.EllipticCurvePrivateKey) -> bytes:
    made = [
        {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())), "kid": name} for name, key in keys.items()
    ]
    return json.dumps({"keys": made}).encode()


def token(name: str, key: ec.EllipticCurvePrivateKey) -> str:
    return jwt.encode({"sub": "alice", "iat": NOW_S, "exp": NOW_S + 60}, key, "ES256", headers={"kid": name})


def settings(url: str, truststore: Path | None = None) -> BearerSettings:
    return BearerSettings(url, 3_600_000, str(truststore) if truststore else None, (), None, 0, "scope", "sub")


def keys_of(told: BearerSettings) -> BearerKeys:
    return BearerKeys(told, RealWorld(SocketNetwork()))


def knows(keys: BearerKeys, name: str, key: ec.EllipticCurvePrivateKey) -> bool:
    try:
        return keys.check(token(name, key), NOW_S * 1000).subject == "alice"
    except InvalidToken:
        return False


def test_a_file_of_keys_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"

    async def scenario() -> None:
        keys = keys_of(settings(f"file://{file}"))
        await keys.begin()
        assert not knows(keys, "a", KEY), "there is no such file yet"
        running = asyncio.create_task(keys.run())
        for content, name, key in ((key_set(a=KEY), "a", KEY), (key_set(b=NEXT_KEY), "b", NEXT_KEY)):
            file.write_bytes(content)
            await asyncio.sleep(1.5)
            assert knows(keys, name, key)
        assert not knows(keys, "a", KEY)
        file.write_bytes(b"broken")
        await asyncio.sleep(1.5)
        assert knows(keys, "b", NEXT_KEY), "the last that could be read stay"
        running.cancel()

    asyncio.run(scenario())


class Issuer:
    """Gives out what `content` is, or says that it moved."""

    def __init__(self, directory: Path) -> None:
        authority = Authority(directory)
        self.truststore, self.content, self.moved = authority.file, b"", False
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(302 if issuer.moved else 200)
                if issuer.moved:
                    self.send_header("Location", f"{issuer.url}/elsewhere")
                self.end_headers()
                self.wfile.write(issuer.content)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.issue("CN=issuer", "127.0.0.1").file)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    made = Issuer(tmp_path)
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_keys_over_https_are_fetched_again_for_an_unknown_one(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bearer_keys, "RETRY_S", 0.2)

    async def scenario() -> None:
        issuer.content = key_set(a=KEY)
        keys = keys_of(settings(issuer.url, issuer.truststore))
        await keys.begin()
        assert knows(keys, "a", KEY)
        running = asyncio.create_task(keys.run())
        issuer.content = key_set(a=KEY, b=NEXT_KEY)
        await asyncio.sleep(0.6)
        assert not knows(keys, "b", NEXT_KEY), "nobody had asked for it"
        await asyncio.sleep(0.6)
        assert knows(keys, "b", NEXT_KEY)
        running.cancel()

    asyncio.run(scenario())


def test_an_issuer_that_nobody_vouches_for_or_that_points_elsewhere_is_not_believed(issuer: Issuer) -> None:
    async def scenario() -> None:
        issuer.content = key_set(a=KEY)
        stranger = keys_of(settings(issuer.url))
        await stranger.begin()
        assert not knows(stranger, "a", KEY)
        issuer.moved = True
        moved = keys_of(settings(issuer.url, issuer.truststore))
        await moved.begin()
        assert not knows(moved, "a", KEY)

    asyncio.run(scenario())
