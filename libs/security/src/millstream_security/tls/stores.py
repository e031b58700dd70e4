"""Keys and certificates from where Kafka's properties say that they are: PEM in a file or in the property itself, or PKCS12.

What is read stays in memory: OpenSSL takes a private key from a file only, and is given one that has no name.
"""

import os
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from millstream_security.tls.errors import TlsConfigError
from millstream_wire.late_dataclass import dataclass

_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_JKS = b"\xfe\xed\xfe\xed"
_TYPES = ("PEM", "PKCS12", "JKS")
_LINE = 64


@dataclass(frozen=True, slots=True)
class Store:
    """One keystore or truststore, not read yet."""

    key: str
    """The property that names it, for messages."""
    type: str | None
    """PEM, PKCS12 or JKS as the properties say; None: whatever the content looks like."""
    path: Path | None = None
    inline: str = field(default="", repr=False)
    """PEM, where there is no file."""
    password: str | None = field(default=None, repr=False)
    """Of a PKCS12 file."""
    password_key: str = ""
    key_password: str | None = field(default=None, repr=False)
    """Of an encrypted private key in PEM."""
    key_password_key: str = ""

    @property
    def name(self) -> str:
        return f"{self.key}={self.path}" if self.path is not None else self.key

    def pem(self) -> bytes:
        """All of its content as PEM. Raises TlsConfigError."""
        if self.path is None:
            return _normal(self.inline.replace("\\n", "\n").encode(), self.name)
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise TlsConfigError(f"{self.key}: cannot read {self.path}: {error.strerror}") from None
        if content.startswith(_JKS):
            raise TlsConfigError(
                f"{self.name} is a Java keystore (JKS), which is not read here; convert it: keytool -importkeystore "
                f"-srckeystore {self.path} -destkeystore {self.path.with_suffix('.p12')} -deststoretype PKCS12"
            )
        if b"-----BEGIN " in content:
            if self.type not in (None, "PEM"):
                raise TlsConfigError(f"{self.name} is PEM: set {self.key.rpartition('.')[0]}.type=PEM")
            return _normal(content, self.name)
        if self.type == "PEM":
            raise TlsConfigError(f"{self.name} is not PEM: there is no -----BEGIN in it")
        return self._pkcs12(content)

    def _pkcs12(self, content: bytes) -> bytes:
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

        password = self.password.encode() if self.password is not None else None
        try:
            found = pkcs12.load_pkcs12(content, password)
        except ValueError:
            raise TlsConfigError(f"{self.name} is neither PEM nor PKCS12, or {self.password_key} is wrong") from None
        parts = []
        if found.key is not None:
            parts.append(found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        certificates = [each.certificate for each in (found.cert, *found.additional_certs) if each is not None]
        parts += [each.public_bytes(Encoding.PEM) for each in certificates]
        return b"".join(parts)


def read_type(text: str | None, key: str) -> str | None:
    if text is None:
        return None
    if text.upper() not in _TYPES:
        raise TlsConfigError(f"{key} must be PEM or PKCS12, not {text!r}")
    return text.upper()


def load_key(context: ssl.SSLContext, store: Store) -> bytes:
    """Give the context a key with its certificates, the own one first; that one, in DER. Raises TlsConfigError."""
    pem = store.pem()
    blocks = [found[1] for found in _PEM.finditer(pem)]
    if not any(label.endswith(b"PRIVATE KEY") for label in blocks):
        raise TlsConfigError(f"{store.name} has no private key")
    if b"CERTIFICATE" not in blocks:
        raise TlsConfigError(f"{store.name} has no certificate for its private key")
    with _nameless(pem) as path:
        try:
            context.load_cert_chain(path, password=lambda: store.key_password or "")
        except ssl.SSLError as error:
            raise TlsConfigError(f"{store.name}: {_advice(error, store)}") from None
        except ValueError:  # a password of more than 1,024 bytes
            raise TlsConfigError(f"{store.name}: {store.key_password_key} is too long") from None
    first = next(found for found in _PEM.finditer(pem) if found[1] == b"CERTIFICATE")
    return ssl.PEM_cert_to_DER_cert(first[0].decode())


def load_trusted(context: ssl.SSLContext, store: Store) -> None:
    """Let the context trust these authorities. Raises TlsConfigError."""
    certificates = [found[0] for found in _PEM.finditer(store.pem()) if found[1].endswith(b"CERTIFICATE")]
    if not certificates:
        raise TlsConfigError(f"{store.name} has no certificate")
    try:
        context.load_verify_locations(cadata=b"\n".join(certificates).decode())
    except ssl.SSLError as error:
        raise TlsConfigError(f"{store.name} has a certificate that cannot be read: {error.reason}") from None


def _advice(error: ssl.SSLError, store: Store) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the private key is not the first certificate's"
    if error.reason in ("BAD_DECRYPT", "BAD_PASSWORD_READ", "PROBLEMS_GETTING_PASSWORD") or error.reason is None:
        given = "is wrong" if store.key_password else "is not set"
        return f"the private key cannot be read: it is encrypted and {store.key_password_key} {given}, or it is damaged"
    if error.reason in ("EE_KEY_TOO_SMALL", "CA_MD_TOO_WEAK"):
        return f"OpenSSL finds it too weak: {error.reason}"
    return f"a key or certificate cannot be read: {error.reason}"


def _normal(content: bytes, name: str) -> bytes:
    """As OpenSSL wants it: properties may hold PEM in one line, and text may stand between the blocks."""
    blocks = []
    for label, body in _PEM.findall(content):
        if b":" not in body:  # a header of an old encrypted key stays as it is
            text = b"".join(body.split())
            body = b"\n" + b"\n".join(text[at : at + _LINE] for at in range(0, len(text), _LINE)) + b"\n"
        blocks.append(b"-----BEGIN %b-----%b-----END %b-----\n" % (label, body, label))
    if not blocks:
        raise TlsConfigError(f"{name} has nothing in PEM: no block from -----BEGIN to -----END")
    return b"".join(blocks)


@contextmanager
def _nameless(content: bytes) -> Iterator[str]:
    """A file in memory that no other process can open, and that is gone with the block."""
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
