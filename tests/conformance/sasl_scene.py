"""A listener where everybody logs in, on ours and on Apache Kafka alike; and a peer that sends what it is told and notes what comes."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import pack
from typing import Any

import jwt
import servers
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from kafka_broker import SMALL_JVM, KafkaBroker
from wire_client import WireClient, framed

from millstream_security.sasl.login import Login
from millstream_wire import messages as m
from millstream_wire.api import ApiKey
from millstream_wire.codec import decode
from millstream_wire.header import decode_response_header
from millstream_wire.messages.alter_user_scram_credentials import ScramCredentialUpsertion

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
USERS = {"alice": "alice-secret", "bob": "bob-secret", "adam": "adam-secret"}
PLAIN_USERS = {name: password for name, password in USERS.items() if name != "bob"}
TOKEN_SECRET = "conformance-token-secret"
ISSUER, AUDIENCE = "https://issuer.example", "kafka"
JAAS = "org.apache.kafka.common.security"
VALIDATOR = f"{JAAS}.oauthbearer.OAuthBearerValidatorCallbackHandler"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
FOREIGN_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ITERATIONS = 4096
PATIENCE_S = 30


def write_keys(directory: Path) -> Path:
    """The issuer's public key, as both are told of it."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "jwks.json"
    key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
    file.write_text(json.dumps({"keys": [{**key, "kid": "k1", "alg": "RS256", "use": "sig"}]}))
    return file


def bearer(user: str, *, key: Any = KEY, algorithm: str = "RS256", lifetime_s: int = 600, **claims: object) -> str:
    now = int(time.time())
    told = {"sub": user, "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + lifetime_s, "scope": "x"}
    signing: Any = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) if key is not None else None
    return jwt.encode({**told, **claims}, signing, algorithm=algorithm, headers={"kid": "k1"})


def settings(listener: str, keys: Path, plain_users: Mapping[str, str] = PLAIN_USERS) -> dict[str, str]:
    own = f"listener.name.{listener}."
    users = " ".join(f'user_{name}="{password}"' for name, password in plain_users.items())
    return {
        f"{own}sasl.enabled.mechanisms": ",".join(MECHANISMS),
        f"{own}plain.sasl.jaas.config": f"{JAAS}.plain.PlainLoginModule required {users};",
        f"{own}scram-sha-256.sasl.jaas.config": f"{JAAS}.scram.ScramLoginModule required;",
        f"{own}scram-sha-512.sasl.jaas.config": f"{JAAS}.scram.ScramLoginModule required;",
        f"{own}oauthbearer.sasl.jaas.config": f"{JAAS}.oauthbearer.OAuthBearerLoginModule required;",
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{keys}",
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "delegation.token.secret.key": TOKEN_SECRET,
        "delegation.token.expiry.check.interval.ms": "1000",
    }


@dataclass(frozen=True, slots=True)
class Place:
    plain: str
    """Where nobody logs in: for what a test needs made."""
    sasl: str


@contextlib.contextmanager
def our_place(directory: Path, *, plain_users: Mapping[str, str] = PLAIN_USERS, **more: str) -> Iterator[Place]:
    port = servers.free_port()
    plain, sasl = f"127.0.0.1:{port + 5}", f"127.0.0.1:{port}"
    told = settings("sasl_plaintext", write_keys(directory), plain_users) | {
        "listeners": f"SASL_PLAINTEXT://{sasl},PLAINTEXT://{plain}",
        "inter.broker.listener.name": "PLAINTEXT",
        "authorizer.class.name": "",
    }
    given = [f"{key}={value}" for key, value in {**told, **_dotted(more)}.items()]
    with servers.node(directory, *given, port=port):
        place = Place(plain, sasl)
        make_users(place)
        yield place


@contextlib.contextmanager
def kafkas_place(directory: Path, *, plain_users: Mapping[str, str] = PLAIN_USERS, **more: str) -> Iterator[Place]:
    keys = write_keys(directory)
    allowed = [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.{kind}=file://{keys}" for kind in ("urls", "files")]
    broker = KafkaBroker(directory, jvm=[*SMALL_JVM, *allowed])
    sasl = f"127.0.0.1:{servers.free_port()}"
    listeners = f"PLAINTEXT://{broker.bootstrap},SASL_PLAINTEXT://{sasl}"
    own = "listener.name.sasl_plaintext.oauthbearer."
    broker.configure(
        settings("sasl_plaintext", keys, plain_users)
        | {
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{broker.controller_port}",
            "advertised.listeners": listeners,
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
            f"{own}sasl.server.callback.handler.class": VALIDATOR,
        }
        | _dotted(more)
    )
    broker.start()
    try:
        place = Place(broker.bootstrap, sasl)
        make_users(place)
        yield place
    finally:
        broker.stop()


def _dotted(more: dict[str, str]) -> dict[str, str]:
    return {key.replace("_", "."): value for key, value in more.items()}


def make_users(place: Place) -> None:
    """SCRAM for alice and bob, and until a login shows that it is known."""
    import hashlib

    for user, (number, name) in ((user, kind) for user in ("alice", "bob") for kind in ((1, "sha256"), (2, "sha512"))):
        salt = f"salt of {user}".encode()
        salted = hashlib.pbkdf2_hmac(name, USERS[user].encode(), salt, ITERATIONS)
        upsertion = ScramCredentialUpsertion(
            name=user, mechanism=number, iterations=ITERATIONS, salt=salt, salted_password=salted
        )
        with WireClient(place.plain) as client:
            request = m.AlterUserScramCredentialsRequest(upsertions=[upsertion])
            answer = client.call(request, 0, m.AlterUserScramCredentialsResponse)
        assert [each.error_code for each in answer.results] == [0], answer
    deadline = time.monotonic() + PATIENCE_S
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        while not _is_known(place, Login(mechanism, "bob", USERS["bob"])):
            assert time.monotonic() < deadline, "the credential does not become known"
            time.sleep(0.1)


def _is_known(place: Place, login: Login) -> bool:
    with Peer(place.sasl) as peer:
        return bool(peer.log_in(login)[-1][1] == 0)


Outcome = Any
CLOSED = "closed"


class Peer:
    """One connection. What comes back is noted without what differs from one login to the next."""

    def __init__(self, address: str) -> None:
        self._client = WireClient(address)
        self.token: bytes = b""
        """What the server's last answer had for the mechanism."""
        self.message: str | None = None
        self.lifetime_ms = 0

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def hello(self, version: int = 3) -> Outcome:
        request = m.ApiVersionsRequest(client_software_name="peer", client_software_version="1")
        return self._ask(lambda: self.call(request, version, m.ApiVersionsResponse).error_code)

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> Outcome:
        def ask() -> Outcome:
            answer = self.call(m.SaslHandshakeRequest(mechanism=mechanism), version, m.SaslHandshakeResponse)
            return "handshake", answer.error_code, sorted(answer.mechanisms)

        return self._ask(ask)

    def authenticate(self, token: bytes, version: int = 2) -> Outcome:
        def ask() -> Outcome:
            answer = self.call(m.SaslAuthenticateRequest(auth_bytes=token), version, m.SaslAuthenticateResponse)
            self.token, self.message = bytes(answer.auth_bytes), answer.error_message
            self.lifetime_ms = answer.session_lifetime_ms
            return "authenticate", answer.error_code, bool(answer.auth_bytes), answer.session_lifetime_ms > 0

        return self._ask(ask)

    def bare(self, token: bytes) -> Outcome:
        def ask() -> Outcome:
            self._client.socket.sendall(pack(">i", len(token)) + token)
            self.token = bytes(self._client.receive_frame())
            return "bare", bool(self.token)

        return self._ask(ask)

    def metadata(self) -> Outcome:
        """An ordinary request; its code where it is refused in its own form."""

        def ask() -> Outcome:
            self._client.socket.sendall(framed(m.MetadataRequest(topics=[]), 12))
            frame = self._client.receive_frame()
            _, position = decode_response_header(ApiKey.METADATA, 12, frame)
            return "metadata", len(decode(m.MetadataResponse, 12, frame, position).brokers)

        return self._ask(ask)

    def send(self, content: bytes) -> Outcome:
        """Bytes as they are; whether anything but the end comes back."""

        def ask() -> Outcome:
            self._client.socket.sendall(content)
            return bytes(self._client.receive_frame()) and "answered"

        return self._ask(ask)

    def log_in(self, login: Login, bearer_token: str = "", *, version: int = 1) -> list[Outcome]:
        """The whole exchange, with bare tokens for version 0 of the handshake."""
        outcomes = [self.handshake(login.mechanism, version)]
        say = self.authenticate if version else self.bare
        exchange = login.exchange("nonce-of-the-peer", bearer_token)
        token: bytes | None = exchange.first()
        while token is not None and outcomes[-1] != CLOSED and outcomes[-1][1] in (0, True):
            outcomes.append(say(token))
            if outcomes[-1] == CLOSED or outcomes[-1][1] not in (0, True, False):
                break
            token = exchange.step(self.token)
        return outcomes

    def call(self, request: Any, version: int, kind: type[Any]) -> Any:
        return self._client.call(request, version, kind)

    def _ask(self, ask: Callable[[], Outcome]) -> Outcome:
        try:
            return ask()
        except ConnectionError:
            return CLOSED
