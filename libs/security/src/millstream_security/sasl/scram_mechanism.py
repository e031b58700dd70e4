"""The two SCRAM mechanisms, and what is kept of a password instead of it (RFC 5802, 7677)."""

import hashlib
import hmac
from base64 import b64encode
from dataclasses import field
from enum import IntEnum

from millstream_wire.late_dataclass import dataclass

ITERATIONS_MIN = 4_096
ITERATIONS_MAX = 16_384
"""Of stored credentials, as Kafka bounds them."""


class ScramMechanism(IntEnum):
    """With Kafka's numbers."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def wire_name(self) -> str:
        return self.name.replace("_", "-")

    @property
    def hash(self) -> str:
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"

    @property
    def size(self) -> int:
        """Of its keys, in bytes."""
        return hashlib.new(self.hash).digest_size

    def hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self.hash)

    def digest(self, content: bytes) -> bytes:
        return hashlib.new(self.hash, content).digest()

    def salted_password(self, password: str, salt: bytes, iterations: int) -> bytes:
        """The costly part: milliseconds of one processor."""
        return hashlib.pbkdf2_hmac(self.hash, password.encode(), salt, iterations)


SCRAM_NAMES = {mechanism.wire_name: mechanism for mechanism in ScramMechanism}


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """Who knows it can check a client, and pretend to be the server; the password is not in it."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    @staticmethod
    def of_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> "ScramCredential":
        salted = mechanism.salted_password(password, salt, iterations)
        return ScramCredential.of_salted_password(mechanism, salted, salt, iterations)

    @staticmethod
    def of_salted_password(mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int) -> "ScramCredential":
        stored_key = mechanism.digest(mechanism.hmac(salted, b"Client Key"))
        return ScramCredential(salt, stored_key, mechanism.hmac(salted, b"Server Key"), iterations)


def base64(content: bytes) -> str:
    """As SCRAM writes what is not text."""
    return b64encode(content).decode()


_SALT_LENGTH = 26
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def pretended_credential(mechanism: ScramMechanism, user: str, secret: bytes) -> ScramCredential:
    """For a name without one: always the same salt, in the form that Kafka's tools give to salts, and keys that nothing fits.

    Whoever knocks with names cannot tell those that exist from others, on whichever node, for as long as nobody knows the secret.
    """
    seed = hmac.digest(secret, f"{mechanism.wire_name}\0{user}".encode(), "sha512")
    number, salt = int.from_bytes(seed[:20], "big"), ""
    while len(salt) < _SALT_LENGTH:
        number, digit = divmod(number, len(_DIGITS))
        salt += _DIGITS[digit]
    stored_key = mechanism.hmac(seed, b"stored key of nobody")
    return ScramCredential(salt.encode(), stored_key, mechanism.hmac(seed, b"server key of nobody"), ITERATIONS_MIN)
