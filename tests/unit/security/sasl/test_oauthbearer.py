"""OAUTHBEARER: tokens of the issuer's, and everything else that looks like one."""

import base64
import hashlib
import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.principal import Principal
from millstream_security.sasl.exchange import Accepted, Challenge, SaslRefused
from millstream_security.sasl.json_web_token import KeySet, KeySetError, TokenRules, UnknownKey, check_token
from millstream_security.sasl.oauthbearer import Claims, InvalidToken, OAuthBearerClient, OAuthBearerServer

NOW_S = 1_700_000_000
NOW_MS = NOW_S * 1000
RSA, OTHER_RSA = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
EC, ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
CLAIMS = {"sub": "alice", "iss": "me", "aud": ["kafka", "x"], "iat": NOW_S - 10, "exp": NOW_S + 60}
RULES = TokenRules(("kafka",), "me", 30_000)


def public(key, name: str, algorithm: str | None = None) -> dict[str, object]:
    kinds = {"R": jwt.algorithms.RSAAlgorithm, "E": jwt.algorithms.ECAlgorithm, "O": jwt.algorithms.OKPAlgorithm}
    kind = kinds[
        "R" if isinstance(key, rsa.RSAPrivateKey) else "E" if isinstance(key, ec.EllipticCurvePrivateKey) else "O"
    ]
    made = json.loads(kind.to_jwk(key.public_key()))
    return {**made, "kid": name, **({} if algorithm is None else {"alg": algorithm})}


KEYS = KeySet([public(RSA, "rsa"), public(EC, "ec"), public(ED, "ed"), public(OTHER_RSA, "only512", "RS512")])


def token(key=RSA, algorithm: str = "RS256", kid: str = "rsa", **claims: object) -> str:
    body = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not None}
    return jwt.encode(body, key, algorithm=algorithm, headers={"kid": kid})


def unsigned(header: dict[str, object], signature: bytes = b"") -> str:
    def part(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    return ".".join((part(json.dumps(header).encode()), part(json.dumps(CLAIMS).encode()), part(signature)))


def check(text: str, rules: TokenRules = RULES, now_ms: int = NOW_MS) -> Claims:
    return check_token(text, KEYS, rules, now_ms)


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [(RSA, "RS256", "rsa"), (RSA, "RS384", "rsa"), (RSA, "PS256", "rsa"), (EC, "ES256", "ec"), (ED, "EdDSA", "ed"), (OTHER_RSA, "RS512", "only512")],
)  # fmt: skip
def test_a_token_of_the_issuer_names_its_bearer(key, algorithm, kid) -> None:
    assert check(token(key, algorithm, kid)) == Claims("alice", (NOW_S + 60) * 1000)


def refused(text: str, rules: TokenRules = RULES) -> str:
    with pytest.raises(InvalidToken) as caught:
        check(text, rules)
    return str(caught.value)


def test_a_token_of_another_issuer_is_refused() -> None:
    assert "issuer" in refused(token(iss="somebody else"))
    assert "issuer" in refused(token(iss=None))
    refused(token(OTHER_RSA))


def test_a_token_without_a_signature_is_refused() -> None:
    for algorithm in ("none", "None", "NONE", ""):
        assert "algorithm" in refused(unsigned({"alg": algorithm, "kid": "rsa"}))


def test_a_token_signed_with_the_issuers_public_key_is_refused() -> None:
    """HS256 by whoever knows the public key, which is everybody."""
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    header = {"alg": "HS256", "kid": "rsa"}
    start = unsigned(header).rsplit(".", 1)[0]
    forged = unsigned(header, hmac.new(pem, start.encode(), hashlib.sha256).digest())
    assert "algorithm" in refused(forged)


def test_a_key_is_used_for_its_own_algorithm_only() -> None:
    assert "another algorithm" in refused(token(OTHER_RSA, "RS256", "only512"))
    refused(token(EC, "ES256", "rsa"))
    with pytest.raises(UnknownKey):
        check(token(kid="new"))


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": NOW_S - 31},
        {"exp": None},
        {"exp": "soon"},
        {"iat": NOW_S + 31},
        {"iat": None},
        {"nbf": NOW_S + 31},
        {"aud": "elsewhere"},
        {"aud": None},
        {"sub": None},
        {"sub": " "},
        {"scope": 5},
    ],
)
def test_a_token_must_say_who_for_whom_and_until_when(claims) -> None:
    refused(token(**claims))


def test_clocks_may_differ_by_the_skew() -> None:
    assert check(token(exp=NOW_S - 29)).subject == "alice"
    assert check(token(iat=NOW_S + 29, nbf=NOW_S + 29)).subject == "alice"


def test_the_subject_can_be_another_claim() -> None:
    assert check(token(email="a@b"), TokenRules(subject_claim="email")).subject == "a@b"


def test_an_altered_token_is_refused() -> None:
    start, body, signature = token().split(".")
    forged = base64.urlsafe_b64encode(json.dumps({**CLAIMS, "sub": "admin"}).encode()).rstrip(b"=").decode()
    refused(f"{start}.{forged}.{signature}")
    refused(f"{start}.{body}.")
    refused(f"{start}.{body}")
    refused("a" * 70_000)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"keys":5}', b'{"keys":[]}', b'{"keys":[5]}', b'{"keys":[{"kty":"oct","k":"AAAA"}]}', b"{" * 5000])  # fmt: skip
def test_what_is_no_set_of_public_keys_is_refused(content) -> None:
    with pytest.raises(KeySetError):
        KeySet.read(content)


@given(
    st.one_of(st.text(max_size=80), st.builds(lambda a, b: f"{a}.{b}.c", st.text(max_size=20), st.text(max_size=20)))
)
def test_any_text_is_refused_and_nothing_else_happens(text) -> None:
    refused(text)


def server() -> OAuthBearerServer:
    return OAuthBearerServer(lambda text, now_ms: check(text, RULES, now_ms))


def test_a_good_token_logs_in_until_it_ends() -> None:
    accepted = server().step(OAuthBearerClient(token()).first(), NOW_MS)
    assert accepted == Accepted(Principal("User", "alice"), b"", (NOW_S + 60) * 1000)


def test_a_bad_token_is_told_in_the_mechanisms_own_way_first() -> None:
    answers, asks = server(), OAuthBearerClient(token(iss="x"))
    challenge = answers.step(asks.first(), NOW_MS)
    assert challenge == Challenge(b'{"status":"invalid_token"}')
    goodbye = asks.step(challenge.content)
    assert goodbye == b"\x01"
    with pytest.raises(SaslRefused):
        answers.step(goodbye, NOW_MS)
    with pytest.raises(SaslRefused):
        answers.step(OAuthBearerClient(token()).first(), NOW_MS)


@pytest.mark.parametrize(
    "first",
    [b"", b"n,,\x01\x01", b"n,,\x01auth=Basic abc\x01\x01", b"y,,\x01auth=Bearer abc\x01\x01", b"n,,auth=Bearer abc\x01\x01", b"n,,\x01auth=Bearer a b\x01\x01", b"\xff"],
)  # fmt: skip
def test_a_malformed_first_message_is_refused_at_once(first) -> None:
    with pytest.raises(SaslRefused):
        server().step(first, NOW_MS)


def test_acting_for_another_is_refused() -> None:
    first = OAuthBearerClient(token()).first().replace(b"n,,", b"n,a=bob,")
    with pytest.raises(SaslRefused, match="authorization id"):
        server().step(first, NOW_MS)
