"""What is said of keys and certificates that are no good, and how others take their place while connections go on."""

import logging
import os
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from certificates import Authority
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from millstream_security.protocol import ListenerProperties
from millstream_security.tls import contexts
from millstream_security.tls.contexts import ClientTls, ServerTls
from millstream_security.tls.errors import TlsConfigError
from millstream_security.tls.settings import TlsSettings

SECRET = "do-not-show-this"


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def properties(**given: object) -> ListenerProperties:
    return ListenerProperties("L", {key.replace("_", "."): str(value) for key, value in given.items()}.get)


def server(**given: object) -> ServerTls:
    return ServerTls("L", TlsSettings.of(properties(**given)))


def client(ca: Authority, **given: object) -> ClientTls:
    return ClientTls("to L", TlsSettings.of(properties(ssl_truststore_location=ca.file, **given)))


def shown(listener: ServerTls, ca: Authority) -> str:
    """Whose certificate a client sees that connects now."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = listener.wrap(to_server, to_client)
    theirs = client(ca).wrap(to_client, to_server, "localhost")
    ends = [theirs, ours]
    for _ in range(10):
        for end in list(ends):
            try:
                end.do_handshake()
                ends.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not ends
    certificate = theirs.getpeercert(binary_form=True)
    assert certificate is not None
    return x509.load_der_x509_certificate(certificate).subject.rfc4514_string()


def test_a_key_may_come_in_many_ways(ca: Authority, tmp_path: Path) -> None:
    node = ca.issue("CN=node", "localhost")
    locked = ca.issue("CN=locked", "localhost", password="pw")
    in_one_line = {
        "ssl_keystore_key": node.key_pem.replace("\n", " "),
        "ssl_keystore_certificate_chain": node.chain_pem,
    }
    joined = {
        "ssl_keystore_key": node.key_pem.replace("\n", ""),
        "ssl_keystore_certificate_chain": node.chain_pem.replace("\n", "\\n"),
    }
    for given in (
        {"ssl_keystore_location": node.file},
        {"ssl_keystore_location": node.file, "ssl_keystore_type": "PEM"},
        {"ssl_keystore_location": node.pkcs12("pw"), "ssl_keystore_type": "PKCS12", "ssl_keystore_password": "pw"},
        {"ssl_keystore_location": node.pkcs12("pw"), "ssl_keystore_password": "pw"},
        in_one_line,
        joined,
    ):
        assert shown(server(**given), ca) == "CN=node"
    assert shown(server(ssl_keystore_location=locked.file, ssl_key_password="pw"), ca) == "CN=locked"


def test_authorities_may_come_in_many_ways(ca: Authority, tmp_path: Path) -> None:
    node = ca.issue("CN=node", "localhost")
    trusted = tmp_path / "trust.p12"
    trusted.write_bytes(
        pkcs12.serialize_key_and_certificates(b"", None, None, [ca.certificate], BestAvailableEncryption(b"pw"))
    )
    for given in (
        {"ssl_truststore_certificates": ca.file.read_text().replace("\n", " ")},
        {"ssl_truststore_location": trusted, "ssl_truststore_password": "pw"},
        {"ssl_truststore_location": node.chain_file},  # whatever is in it is trusted, an authority or not
    ):
        made = ClientTls("", TlsSettings.of(properties(**given))).wrap(ssl.MemoryBIO(), ssl.MemoryBIO(), "localhost")
        assert made.context.cert_store_stats()["x509"] >= 1


def wrong(ca: Authority, tmp_path: Path) -> list[tuple[dict[str, object], str]]:
    node, other = ca.issue("CN=node", "localhost"), ca.issue("CN=other", "localhost")
    locked = ca.issue("CN=locked", "localhost", password=SECRET)
    mixed, keyless, empty = tmp_path / "mixed.pem", tmp_path / "keyless.pem", tmp_path / "empty.pem"
    mixed.write_text(node.key_pem + other.chain_pem)
    keyless.write_text(node.chain_pem)
    empty.write_text("")
    jks = tmp_path / "old.jks"
    jks.write_bytes(b"\xfe\xed\xfe\xed" + bytes(20))
    return [
        ({}, r"has no certificate: set ssl\.keystore\.location"),
        (
            {"ssl_keystore_location": tmp_path / "none.pem"},
            r"ssl\.keystore\.location: cannot read .*none\.pem: No such",
        ),
        ({"ssl_keystore_location": tmp_path}, r"cannot read .*: Is a directory"),
        ({"ssl_keystore_location": keyless}, r"keyless\.pem has no private key"),
        ({"ssl_keystore_location": node.key_file}, r"node\.key has no certificate for its private key"),
        ({"ssl_keystore_location": mixed}, "the private key is not the first certificate's"),
        ({"ssl_keystore_location": locked.file}, r"encrypted and ssl\.key\.password is not set"),
        ({"ssl_keystore_location": locked.file, "ssl_key_password": "x"}, r"ssl\.key\.password is wrong"),
        ({"ssl_keystore_location": empty}, r"neither PEM nor PKCS12"),
        ({"ssl_keystore_location": empty, "ssl_keystore_type": "PEM"}, r"is not PEM"),
        (
            {"ssl_keystore_location": jks, "ssl_keystore_type": "JKS"},
            r"keytool -importkeystore -srckeystore .*old\.jks",
        ),
        ({"ssl_keystore_location": node.file, "ssl_keystore_type": "JKS"}, r"is PEM: set ssl\.keystore\.type=PEM"),
        (
            {"ssl_keystore_location": node.file, "ssl_keystore_type": "BKS"},
            r"ssl\.keystore\.type must be PEM or PKCS12",
        ),
        (
            {"ssl_keystore_location": node.pkcs12("pw"), "ssl_keystore_type": "PKCS12", "ssl_keystore_password": "x"},
            r"ssl\.keystore\.password is wrong",
        ),
        ({"ssl_keystore_location": node.file, "ssl_keystore_key": node.key_pem}, "exclude each other"),
        ({"ssl_keystore_key": node.key_pem}, r"ssl\.keystore\.certificate\.chain must be set too"),
        ({"ssl_keystore_location": node.file, "ssl_client_auth": "required"}, r"trusts nobody's: set ssl\.truststore"),
        (
            {"ssl_keystore_location": node.file, "ssl_client_auth": "maybe"},
            r"ssl\.client\.auth must be none, requested",
        ),
        ({"ssl_keystore_location": node.file, "ssl_enabled_protocols": "TLSv1.1"}, r"not TLSv1\.1"),
        (
            {"ssl_keystore_location": node.file, "ssl_truststore_location": node.key_file},
            r"node\.key has no certificate",
        ),
        ({"ssl_keystore_location": node.file, "ssl_endpoint_identification_algorithm": "x"}, "must be https or empty"),
    ]


def test_what_is_wrong_is_said_with_its_property_and_the_way_out(ca: Authority, tmp_path: Path) -> None:
    for given, message in wrong(ca, tmp_path):
        with pytest.raises(TlsConfigError, match=message) as raised:
            server(**given)
        assert SECRET not in str(raised.value)
        assert "PRIVATE KEY---" not in str(raised.value)


def test_settings_do_not_show_their_secrets(ca: Authority) -> None:
    locked = ca.issue("CN=locked", "localhost", password=SECRET)
    told = repr(TlsSettings.of(properties(ssl_keystore_location=locked.file, ssl_key_password=SECRET)))
    inline = properties(ssl_keystore_key=locked.key_pem, ssl_keystore_certificate_chain=locked.chain_pem)
    assert SECRET not in told
    assert "PRIVATE" not in repr(TlsSettings.of(inline))


def test_a_listeners_own_certificate_comes_first(ca: Authority) -> None:
    node, inside = ca.issue("CN=node", "localhost"), ca.issue("CN=inside", "localhost")
    values = {"ssl.keystore.location": str(node.file), "listener.name.l.ssl.keystore.location": str(inside.file)}
    assert shown(ServerTls("L", TlsSettings.of(ListenerProperties("L", values.get))), ca) == "CN=inside"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "LOOK_INTERVAL_S", 0.0)


def exchanged(place: Path, content: bytes) -> None:
    """As Kubernetes does it: another file under the same name."""
    fresh = place.with_suffix(".fresh")
    fresh.write_bytes(content)
    os.replace(fresh, place)


@pytest.mark.usefixtures("at_once")
def test_a_changed_file_is_used_by_the_next_handshake(ca: Authority, tmp_path: Path) -> None:
    place = tmp_path / "own.pem"
    place.write_bytes(ca.issue("CN=old", "localhost").file.read_bytes())
    listener = server(ssl_keystore_location=place)
    assert shown(listener, ca) == "CN=old"
    exchanged(place, ca.issue("CN=new", "localhost").file.read_bytes())
    assert shown(listener, ca) == "CN=new"


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("break_it", [lambda path: path.unlink(), lambda path: path.write_text("nonsense")])
def test_a_broken_file_changes_nothing_and_is_told_of_once(
    ca: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture, break_it: Callable[[Path], None]
) -> None:
    place = tmp_path / "own.pem"
    place.write_bytes(ca.issue("CN=old", "localhost").file.read_bytes())
    listener = server(ssl_keystore_location=place)
    break_it(place)
    with caplog.at_level(logging.ERROR):
        assert [shown(listener, ca) for _ in range(3)] == ["CN=old"] * 3
    assert [record.message.startswith("certificates not renewed listener=L") for record in caplog.records] == [True]
    exchanged(place, ca.issue("CN=new", "localhost").file.read_bytes())
    assert shown(listener, ca) == "CN=new"
