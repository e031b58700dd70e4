"""An authority for one cluster, and the certificate that its brokers show: for this machine's loopback addresses, gone with the directory."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = timedelta(days=1)
LIFETIME = 3650 * DAY


class Certificates:
    def __init__(self, directory: Path) -> None:
        self.authority = directory / "ca.pem"
        """What clients trust."""
        self.server = directory / "server.pem"
        """The brokers' key and certificate."""
        directory.mkdir(parents=True, exist_ok=True)
        name = _name("Millstream tests")
        key = ec.generate_private_key(ec.SECP256R1())
        ca = (
            _builder(name, name, key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.KeyUsage(False, False, False, False, False, True, True, False, False), critical=True)
            .sign(key, hashes.SHA256())
        )
        server_key = ec.generate_private_key(ec.SECP256R1())
        hosts = [
            x509.DNSName("localhost"),
            *(x509.IPAddress(ipaddress.ip_address(each)) for each in ("127.0.0.1", "::1")),
        ]
        server = (
            _builder(_name("localhost"), name, server_key)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .sign(key, hashes.SHA256())
        )
        self.authority.write_bytes(ca.public_bytes(Encoding.PEM))
        private = server_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self.server.touch(mode=0o600)
        self.server.write_bytes(private + server.public_bytes(Encoding.PEM) + ca.public_bytes(Encoding.PEM))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + LIFETIME)
    )
