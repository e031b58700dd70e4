"""The four messages of SCRAM (RFC 5802, section 7), read strictly: what the grammar does not have is ScramMalformed."""

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping

from millstream_security.sasl.scram_mechanism import base64
from millstream_wire.late_dataclass import dataclass

_NO_BINDING = "n"
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"  # printable, no comma
_EXTENSIONS = r"(?P<extensions>(?:,[A-Za-z]+=[^,\0]*)*)"
_CLIENT_FIRST = re.compile(
    rf"(?P<gs2>(?P<binding>n|y|p=[^,]*),(?:a=(?P<authorized>[^,]*))?,)(?P<bare>n=(?P<user>[^,\0]+),r=(?P<nonce>{_NONCE}){_EXTENSIONS})"
)
_SERVER_FIRST = re.compile(rf"r=(?P<nonce>{_NONCE}),s=(?P<salt>[^,]*),i=(?P<iterations>[1-9][0-9]{{0,8}}){_EXTENSIONS}")
_CLIENT_FINAL = re.compile(
    rf"(?P<unproved>c=(?P<binding>[^,]+),r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>[A-Za-z0-9+/=]+)"
)
_SERVER_FINAL = re.compile(rf"(?:v=(?P<signature>[A-Za-z0-9+/=]+)|e=(?P<error>[^,]+)){_EXTENSIONS}")


class ScramMalformed(Exception):
    """These bytes are not the message that was due."""


@dataclass(frozen=True, slots=True)
class ClientFirst:
    gs2_header: str
    bare: str
    user: str
    authorized: str
    """Whom the client wants to act for; empty: itself."""
    nonce: str
    extensions: Mapping[str, str]

    @staticmethod
    def read(token: bytes) -> "ClientFirst":
        found = _match(_CLIENT_FIRST, token)
        if found["binding"] != _NO_BINDING:
            raise ScramMalformed("channel binding is not offered")
        return ClientFirst(
            found["gs2"],
            found["bare"],
            _unescaped(found["user"]),
            _unescaped(found["authorized"] or ""),
            found["nonce"],
            _extensions(found["extensions"]),
        )

    @staticmethod
    def of(user: str, nonce: str, extensions: Mapping[str, str]) -> "ClientFirst":
        more = "".join(f",{name}={value}" for name, value in extensions.items())
        return ClientFirst(f"{_NO_BINDING},,", f"n={escaped(user)},r={nonce}{more}", user, "", nonce, extensions)

    def encoded(self) -> bytes:
        return f"{self.gs2_header}{self.bare}".encode()


@dataclass(frozen=True, slots=True)
class ServerFirst:
    text: str
    nonce: str
    salt: bytes
    iterations: int

    @staticmethod
    def read(token: bytes) -> "ServerFirst":
        found = _match(_SERVER_FIRST, token)
        _extensions(found["extensions"])
        return ServerFirst(found[0], found["nonce"], from_base64(found["salt"]), int(found["iterations"]))

    @staticmethod
    def of(nonce: str, salt: bytes, iterations: int) -> "ServerFirst":
        return ServerFirst(f"r={nonce},s={base64(salt)},i={iterations}", nonce, salt, iterations)


@dataclass(frozen=True, slots=True)
class ClientFinal:
    unproved: str
    binding: str
    nonce: str
    proof: bytes

    @staticmethod
    def read(token: bytes) -> "ClientFinal":
        found = _match(_CLIENT_FINAL, token)
        _extensions(found["extensions"])
        return ClientFinal(found["unproved"], found["binding"], found["nonce"], from_base64(found["proof"]))


def unproved_final(gs2_header: str, nonce: str) -> str:
    """What the proof is about; strictly the header of the first message again, so that nobody can have changed that."""
    return f"c={base64(gs2_header.encode())},r={nonce}"


def read_server_final(token: bytes) -> bytes:
    """The server's signature."""
    found = _match(_SERVER_FINAL, token)
    if found["error"] is not None:
        raise ScramMalformed(f"the server refuses: {found['error']}")
    return from_base64(found["signature"])


def escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _unescaped(name: str) -> str:
    if re.search("=(?!2C|3D)", name):
        raise ScramMalformed("a name with an equals sign that is no escape")
    return name.replace("=2C", ",").replace("=3D", "=")


def _extensions(text: str) -> dict[str, str]:
    """Unknown ones are ignored as the RFC has it, but for `m`, which says that they may not be."""
    pairs = [part.partition("=") for part in text.split(",") if part]
    if any(name == "m" for name, _, _ in pairs):
        raise ScramMalformed("a mandatory extension that is not known")
    return {name: value for name, _, value in pairs}


def _match(pattern: re.Pattern[str], token: bytes) -> re.Match[str]:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        raise ScramMalformed("not UTF-8") from None
    found = pattern.fullmatch(text)
    if found is None:
        raise ScramMalformed("not the message that is due")
    return found


def from_base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (Base64Error, ValueError):
        raise ScramMalformed("not base64") from None
