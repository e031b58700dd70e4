"""A certificate authority that can be exchanged while everybody goes on trusting.

A new authority is certified by the one before it as well (a bridge). What it issues is presented together with the bridges, so that
who trusts only the old one believes it too; and what the old one issued is believed by all as long as the old one is in the trust.
So the order in which processes and clients learn of a new authority does not matter, and nobody has to wait for anybody.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey

BACKDATED = timedelta(minutes=5)
"""Clocks differ: a certificate is valid from a moment before it is made."""
_PEM = serialization.Encoding.PEM


class BadAuthority(Exception):
    """What was given as an authority cannot be one; the message says why and holds no key."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Invariant: the key is the certificate's."""

    certificate: x509.Certificate
    key: PrivateKey = field(repr=False)
    older: tuple[x509.Certificate, ...] = ()
    """Still trusted: what they issued is still around."""
    bridges: tuple[x509.Certificate, ...] = ()
    """This authority and older ones, as certified by their predecessors."""

    @classmethod
    def new(cls, name: str, now: datetime, valid: timedelta) -> "Authority":
        key = new_key()
        # A name of its own: authorities that share one confuse who builds chains by names.
        number = x509.random_serial_number()
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name[:40]} {number:x}"[:64])])
        return cls(_certify_authority(subject, key.public_key(), subject, key, now, now + valid), key)

    @classmethod
    def of_pem(cls, certificate: bytes, key: bytes) -> "Authority":
        """One that somebody brings. Raises BadAuthority."""
        try:
            found = x509.load_pem_x509_certificates(certificate)[0]
            loaded = serialization.load_pem_private_key(key, None)
        except (ValueError, TypeError, IndexError) as error:
            raise BadAuthority(f"not a certificate and an unencrypted private key in PEM: {error}") from None
        if not isinstance(loaded, PrivateKey):
            raise BadAuthority("the private key must be of the kind ECDSA, RSA or Ed25519")
        if loaded.public_key() != found.public_key():
            raise BadAuthority("the private key is not that of the certificate")
        try:
            is_authority = found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        except x509.ExtensionNotFound:
            is_authority = False
        if not is_authority:
            raise BadAuthority("the certificate may not issue others: it needs the basic constraint CA:TRUE")
        return cls(found, loaded)

    def succeeded_by(self, next_one: "Authority", now: datetime) -> "Authority":
        """The next authority, believed by whoever believes this one."""
        mine = self.certificate
        until = min(mine.not_valid_after_utc, next_one.certificate.not_valid_after_utc)
        bridge = _certify_authority(
            next_one.certificate.subject, next_one.certificate.public_key(), mine.subject, self.key, now, until
        )
        return replace(next_one, older=(mine, *self.older), bridges=(bridge, *self.bridges)).without_expired(now)

    def without_expired(self, now: datetime) -> "Authority":
        def valid(certificates: tuple[x509.Certificate, ...]) -> tuple[x509.Certificate, ...]:
            return tuple(each for each in certificates if each.not_valid_after_utc > now)

        return replace(self, older=valid(self.older), bridges=valid(self.bridges))

    def ends_within(self, span: timedelta, now: datetime) -> bool:
        return self.certificate.not_valid_after_utc - now < span

    def issued(self, certificate: x509.Certificate) -> bool:
        try:
            certificate.verify_directly_issued_by(self.certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    @property
    def trust(self) -> bytes:
        """What to believe, as PEM: this authority and those before it."""
        return b"".join(each.public_bytes(_PEM) for each in (self.certificate, *self.older))

    @property
    def chain(self) -> bytes:
        """What goes behind each certificate that it issues, as PEM."""
        return b"".join(each.public_bytes(_PEM) for each in self.bridges)

    def as_files(self) -> dict[str, bytes]:
        """To be kept, and read by `of_files`."""
        return {"ca.crt": self.trust, "ca.key": key_pem(self.key), "bridges.crt": self.chain}

    @classmethod
    def of_files(cls, files: Mapping[str, bytes]) -> "Authority":
        """Raises BadAuthority."""
        try:
            trust, key, bridges = files["ca.crt"], files["ca.key"], files.get("bridges.crt", b"")
        except KeyError as error:
            raise BadAuthority(f"there is no {error.args[0]}") from None
        authority = cls.of_pem(trust, key)
        older = x509.load_pem_x509_certificates(trust)[1:]
        return replace(
            authority,
            older=tuple(older),
            bridges=tuple(x509.load_pem_x509_certificates(bridges)) if bridges.strip() else (),
        )


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: PrivateKey) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def signature_hash(key: PrivateKey) -> hashes.SHA256 | None:
    return None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()


def utc(now_ms: int) -> datetime:
    return datetime.fromtimestamp(now_ms / 1000, UTC)


def _certify_authority(
    subject: x509.Name,
    public_key: object,
    issuer: x509.Name,
    issuer_key: PrivateKey,
    now: datetime,
    until: datetime,
) -> x509.Certificate:
    usage = x509.KeyUsage(
        key_cert_sign=True,
        crl_sign=True,
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)  # type: ignore[arg-type]
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)  # type: ignore[arg-type]
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
        .sign(issuer_key, signature_hash(issuer_key))
    )
