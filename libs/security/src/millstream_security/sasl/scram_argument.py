"""`--add-scram` as kafka-storage takes it: `SCRAM-SHA-256=[name=admin,password=...]`, with salt, iterations and saltedpassword."""

import re

from millstream_security.sasl.errors import SaslConfigError
from millstream_security.sasl.scram_mechanism import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    SCRAM_NAMES,
    ScramCredential,
    ScramMechanism,
)
from millstream_security.sasl.scram_messages import ScramMalformed, from_base64
from millstream_wire.late_dataclass import dataclass

_ARGUMENT = re.compile(r"(?P<mechanism>[^=]+)=\[(?P<pairs>.*)\]", re.DOTALL)
_PAIR = re.compile(r'(?P<key>[a-z]+)=(?:"(?P<quoted>[^"]*)"|(?P<bare>[^,]*))(?:,|$)', re.DOTALL)
_KEYS = ("name", "password", "salt", "iterations", "saltedpassword")


@dataclass(frozen=True, slots=True)
class FirstCredential:
    user: str
    mechanism: ScramMechanism
    credential: ScramCredential


def parse_scram_argument(text: str, random_salt: bytes) -> FirstCredential:
    """`random_salt` is for who gives none. Raises SaslConfigError, which never shows the text: there is a password in it."""
    found = _ARGUMENT.fullmatch(text.strip())
    mechanism = SCRAM_NAMES.get(found["mechanism"]) if found is not None else None
    if found is None or mechanism is None:
        raise SaslConfigError(
            f"--add-scram must be MECHANISM=[name=...,password=...], with one of {', '.join(SCRAM_NAMES)}"
        )
    given = _pairs(found["pairs"])
    user, password, salted = given.get("name", ""), given.get("password"), given.get("saltedpassword")
    if not user:
        raise SaslConfigError("--add-scram must have a name")
    if (password is None) == (salted is None) or "" in (password, salted):
        raise SaslConfigError(f"--add-scram for {user} must have one of password and saltedpassword")
    if salted is not None and "salt" not in given:
        raise SaslConfigError(f"--add-scram for {user} has a saltedpassword and must have its salt")
    iterations = given.get("iterations", str(ITERATIONS_MIN))
    if not iterations.isdecimal() or not ITERATIONS_MIN <= int(iterations) <= ITERATIONS_MAX:
        raise SaslConfigError(f"--add-scram for {user}: iterations must be {ITERATIONS_MIN} to {ITERATIONS_MAX}")
    salt = _bytes(user, "salt", given["salt"]) if "salt" in given else random_salt
    if salted is not None:
        content = _bytes(user, "saltedpassword", salted)
        credential = ScramCredential.of_salted_password(mechanism, content, salt, int(iterations))
    else:
        credential = ScramCredential.of_password(mechanism, password or "", salt, int(iterations))
    return FirstCredential(user, mechanism, credential)


def _pairs(text: str) -> dict[str, str]:
    given: dict[str, str] = {}
    position = 0
    while position < len(text):
        pair = _PAIR.match(text, position)
        if pair is None or pair["key"] not in _KEYS or pair["key"] in given:
            raise SaslConfigError(f"--add-scram takes {', '.join(_KEYS)}, each of them once, as key=value")
        given[pair["key"]] = pair["bare"] if pair["quoted"] is None else pair["quoted"]
        position = pair.end()
    return given


def _bytes(user: str, key: str, text: str) -> bytes:
    try:
        return from_base64(text)
    except ScramMalformed:
        raise SaslConfigError(f"--add-scram for {user}: {key} must be base64") from None
