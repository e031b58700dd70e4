"""An authority and the certificates that it gives out, made for a test and gone with its directory."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
DAY = timedelta(days=1)


def subject(text: str) -> x509.Name:
    """From RFC 4514: `CN=node,O=Example`."""
    return x509.Name.from_rfc4514_string(text)


class Authority:
    def __init__(self, directory: Path, name: str = "CN=Test CA,O=Example") -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._name = subject(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        self.certificate = (
            _builder(self._name, self._name, self._key, -DAY, 30 * DAY)
            .add_extension(constraints, critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file = directory / "ca.pem"
        self.file.write_bytes(self.certificate.public_bytes(Encoding.PEM))

    def issue(
        self,
        name: str,
        *hosts: str,
        begins: timedelta = -DAY,
        ends: timedelta = 10 * DAY,
        key: PrivateKey | None = None,
        password: str | None = None,
        file: str = "",
    ) -> "Issued":
        """A key and a certificate for server and client alike; without hosts it is no server's."""
        key = key or ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if hosts else [])]
        builder = _builder(subject(name), self._name, key, begins, ends)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False
            )
        certificate = builder.sign(self._key, hashes.SHA256())
        place = self.directory / (file or f"{name.partition(',')[0].partition('=')[2].replace(' ', '_')}.pem")
        return Issued(key, certificate, self.certificate, place, password)


class Issued:
    """`file`: the private key and its certificate with the authority's behind it, as ssl.keystore.location wants them."""

    def __init__(
        self,
        key: PrivateKey,
        certificate: x509.Certificate,
        issuer: x509.Certificate,
        file: Path,
        password: str | None,
    ) -> None:
        self.key, self.certificate, self.file = key, certificate, file
        self._issuer = issuer
        encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        self.key_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()
        self.chain_pem = b"".join(each.public_bytes(Encoding.PEM) for each in (certificate, issuer)).decode()
        file.write_text(self.key_pem + self.chain_pem)
        self.key_file, self.chain_file = file.with_suffix(".key"), file.with_suffix(".crt")
        self.key_file.write_text(self.key_pem)
        self.chain_file.write_text(self.chain_pem)

    def pkcs12(self, password: str) -> Path:
        path = self.file.with_suffix(".p12")
        encryption: KeySerializationEncryption = BestAvailableEncryption(password.encode())
        content = pkcs12.serialize_key_and_certificates(b"own", self.key, self.certificate, [self._issuer], encryption)
        path.write_bytes(content)
        return path


def _builder(
    name: x509.Name, issuer: x509.Name, key: PrivateKey, begins: timedelta, ends: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins)
        .not_valid_after(now + ends)
    )


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
