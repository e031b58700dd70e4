"""Certificates of nodes and of users: what they say, and when they are due for another."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from millstream_operator.certificates.authority import (
    BACKDATED,
    Authority,
    BadAuthority,
    PrivateKey,
    key_pem,
    new_key,
    signature_hash,
)

COMMON_NAME_LENGTH_MAX = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a certificate has to say."""

    common_name: str
    unit: str | None = None
    """OU: sets the cluster's own certificates apart."""
    names: tuple[str, ...] = ()
    """Host names and addresses of a server; without any it is a client's only."""

    @property
    def principal(self) -> str:
        """As Kafka prints the subject."""
        return f"CN={self.common_name}" + (f",OU={self.unit}" if self.unit else "")


@dataclass(frozen=True, slots=True)
class Issued:
    certificate: x509.Certificate
    key: PrivateKey = field(repr=False)
    chain: bytes = b""

    @property
    def certificates(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM) + self.chain

    @property
    def key_text(self) -> bytes:
        return key_pem(self.key)

    @property
    def keystore(self) -> bytes:
        """Key, certificate and chain in one file, as ssl.keystore.type=PEM has them."""
        return self.key_text + self.certificates

    @classmethod
    def of_keystore(cls, text: bytes) -> "Issued":
        """Raises BadAuthority."""
        try:
            key = serialization.load_pem_private_key(text, None)
            first, *rest = x509.load_pem_x509_certificates(text)
        except (ValueError, TypeError) as error:
            raise BadAuthority(f"not a key and its certificates: {error}") from None
        if not isinstance(key, PrivateKey) or key.public_key() != first.public_key():
            raise BadAuthority("the key is not that of the certificate")
        return cls(first, key, b"".join(each.public_bytes(serialization.Encoding.PEM) for each in rest))


def issue(authority: Authority, wanted: Wanted, now: datetime, valid: timedelta) -> Issued:
    """With a key of its own; never valid for longer than its authority."""
    key = new_key()
    subject = [x509.NameAttribute(NameOID.COMMON_NAME, wanted.common_name[:COMMON_NAME_LENGTH_MAX])]
    if wanted.unit is not None:
        subject.insert(0, x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, wanted.unit))
    uses = [ExtendedKeyUsageOID.CLIENT_AUTH]
    if wanted.names:
        uses.append(ExtendedKeyUsageOID.SERVER_AUTH)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(subject))
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(min(now + valid, authority.certificate.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_USAGE, critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    if wanted.names:
        names = x509.SubjectAlternativeName([_name(each) for each in wanted.names])
        builder = builder.add_extension(names, critical=False)
    return Issued(builder.sign(authority.key, signature_hash(authority.key)), key, authority.chain)


def is_due(found: Issued, authority: Authority, wanted: Wanted, now: datetime, renew_before: timedelta) -> bool:
    """Whether another certificate has to take its place: it ends soon, says something else, or is of an older authority."""
    certificate = found.certificate
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return (
        # A third of its life at least: who asks for short lives does not mean to renew at every look.
        certificate.not_valid_after_utc - now < min(renew_before, lifetime / 3)
        or not authority.issued(certificate)
        or found.chain != authority.chain
        or certificate.subject.rfc4514_string() != wanted.principal
        or sorted(_names(certificate)) != sorted(wanted.names)
    )


_USAGE = x509.KeyUsage(
    digital_signature=True,
    key_encipherment=False,
    key_cert_sign=False,
    crl_sign=False,
    content_commitment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


def _name(text: str) -> x509.GeneralName:
    address = _address(text)
    return x509.DNSName(text) if address is None else x509.IPAddress(address)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _names(certificate: x509.Certificate) -> Sequence[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(each.value) for each in names]
