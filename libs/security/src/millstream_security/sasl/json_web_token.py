"""Signed tokens (RFC 7519) and the keys that they are checked by (RFC 7517). Signatures are PyJWT's; what a token must say is here.

Only algorithms whose key is public: `none` proves nothing, and with HS256 whoever can check a token can make one, which an
attacker would do with the issuer's public key.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jwt

from millstream_security.sasl.oauthbearer import Claims, InvalidToken
from millstream_wire.late_dataclass import dataclass

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_KEY_TYPES = ("RSA", "EC", "OKP")
TOKEN_MAX_BYTES = 64 * 1024


class KeySetError(ValueError):
    """Not a JSON Web Key Set with a key that can check a signature."""


@dataclass(frozen=True, slots=True)
class TokenRules:
    audiences: tuple[str, ...] = ()
    """sasl.oauthbearer.expected.audience: one of them must be in `aud`; empty: anything goes."""
    issuer: str | None = None
    """sasl.oauthbearer.expected.issuer"""
    skew_ms: int = 30_000
    """sasl.oauthbearer.clock.skew.seconds"""
    scope_claim: str = "scope"
    subject_claim: str = "sub"


class KeySet:
    """Public keys by their ids; keys of other kinds are left out."""

    def __init__(self, keys: Sequence[Mapping[str, Any]]) -> None:
        self._keys = [key for key in keys if key.get("kty") in _KEY_TYPES and key.get("use", "sig") == "sig"]
        if not self._keys:
            raise KeySetError("the key set holds no public key that signatures can be checked by")

    @staticmethod
    def read(content: bytes) -> "KeySet":
        try:
            keys = json.loads(content)["keys"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise KeySetError("not a JSON Web Key Set") from None
        if not (isinstance(keys, list) and all(isinstance(key, dict) for key in keys)):
            raise KeySetError("`keys` is not a list of objects")
        return KeySet(keys)

    def find(self, key_id: str | None) -> Mapping[str, Any] | None:
        """By its id; a token that names none means the only key there is."""
        if key_id is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.get("kid") == key_id), None)


def check_token(token: str, keys: KeySet, rules: TokenRules, now_ms: int) -> Claims:
    if len(token) > TOKEN_MAX_BYTES:
        raise InvalidToken("too long")
    try:
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise InvalidToken("an algorithm that is not allowed")
        key = keys.find(header.get("kid"))
        if key is None:
            raise UnknownKey("signed by a key that is not known")
        if key.get("alg", algorithm) != algorithm:
            raise InvalidToken("its key is for another algorithm")
        claims = jwt.decode(
            token,
            jwt.PyJWK(dict(key), algorithm=algorithm),
            algorithms=[algorithm],
            # Times are compared below: this would look at a clock of its own.
            options={
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
                "verify_aud": False,
                "verify_iss": False,
            },
        )
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InvalidToken(type(error).__name__) from None
    return _checked(claims, rules, now_ms)


class UnknownKey(InvalidToken):
    """The issuer may have a new key since the key set was fetched."""


def _checked(claims: Mapping[str, Any], rules: TokenRules, now_ms: int) -> Claims:
    expires_ms, issued_ms = _time(claims, "exp"), _time(claims, "iat")
    if now_ms >= expires_ms + rules.skew_ms:
        raise InvalidToken("expired")
    if now_ms < issued_ms - rules.skew_ms:
        raise InvalidToken("issued in the future")
    if "nbf" in claims and now_ms < _time(claims, "nbf") - rules.skew_ms:
        raise InvalidToken("not valid yet")
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise InvalidToken("of another issuer")
    told = claims.get("aud", [])
    audiences = [told] if isinstance(told, str) else told
    if rules.audiences and not (isinstance(audiences, list) and set(rules.audiences).intersection(map(str, audiences))):
        raise InvalidToken("for another audience")
    scope = claims.get(rules.scope_claim, "")
    if not isinstance(scope, (str, list)):
        raise InvalidToken("its scope is neither text nor a list")
    subject = claims.get(rules.subject_claim)
    if not isinstance(subject, str) or not subject.strip():
        raise InvalidToken("it does not say who its bearer is")
    return Claims(subject, expires_ms)


def _time(claims: Mapping[str, Any], name: str) -> int:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1 << 40:
        raise InvalidToken(f"it has no {name}")
    return int(value * 1000)
