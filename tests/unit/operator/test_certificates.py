"""Authorities that follow one another, judged by OpenSSL: handshakes in memory."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID

from millstream_operator.certificates.authority import Authority, BadAuthority, key_pem, new_key
from millstream_operator.certificates.issue import Issued, Wanted, is_due, issue

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
HOST = "demo-broker-0.demo-broker.apps.svc"
NODE = Wanted("demo-broker", "nodes", ("*.demo-broker.apps.svc", "127.0.0.1"))
USER = Wanted("shop")


def context(tmp_path: Path, trust: bytes, shown: Issued, *, server: bool) -> ssl.SSLContext:
    keystore = tmp_path / "keystore.pem"
    keystore.write_bytes(shown.keystore)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    made.verify_mode = ssl.CERT_REQUIRED
    made.verify_flags |= ssl.VERIFY_X509_STRICT
    made.load_verify_locations(cadata=trust.decode())
    made.load_cert_chain(keystore)
    return made


def shake_hands(tmp_path: Path, server: tuple[bytes, Issued], client: tuple[bytes, Issued], host: str = HOST) -> None:
    """Each side is what it trusts and what it shows; raises ssl.SSLError where one does not believe the other."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    served = context(tmp_path, *server, server=True).wrap_bio(to_server, to_client, server_side=True)
    asking = context(tmp_path, *client, server=False).wrap_bio(to_client, to_server, server_hostname=host)
    for side in (asking, served) * 3:
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


def authority(name: str = "demo", days: int = 100) -> Authority:
    return Authority.new(name, NOW, days * DAY)


def test_nodes_of_one_authority_believe_each_other_by_name(tmp_path: Path) -> None:
    ca = authority()
    node, user = issue(ca, NODE, NOW, 30 * DAY), issue(ca, USER, NOW, 30 * DAY)
    shake_hands(tmp_path, (ca.trust, node), (ca.trust, user))
    shake_hands(tmp_path, (ca.trust, node), (ca.trust, user), host="127.0.0.1")
    with pytest.raises(ssl.SSLError, match="Hostname mismatch"):
        shake_hands(tmp_path, (ca.trust, node), (ca.trust, user), host="demo-broker-0.demo-broker.other.svc")
    with pytest.raises(ssl.SSLError, match="verify failed"):
        shake_hands(tmp_path, (ca.trust, node), (ca.trust, issue(authority(), USER, NOW, DAY)))
    with pytest.raises(ssl.SSLError, match="verify failed"):
        shake_hands(tmp_path, (ca.trust, user), (ca.trust, user))


def test_a_new_authority_is_believed_whoever_has_heard_of_it(tmp_path: Path) -> None:
    """Twice in a row, in every mixture of old and new on both sides: in no order of roll-out does anybody have to wait."""
    first = authority()
    second = first.succeeded_by(authority(), NOW)
    third = second.succeeded_by(authority(), NOW)
    knowledge = [(ca.trust, issue(ca, NODE, NOW, 30 * DAY)) for ca in (first, second, third)]
    for server in knowledge:
        for client in knowledge:
            shake_hands(tmp_path, server, client)


def test_an_authority_that_has_ended_is_forgotten() -> None:
    first = authority(days=1)
    second = first.succeeded_by(authority(), NOW)
    assert (len(second.older), len(second.bridges)) == (1, 1)
    later = second.without_expired(NOW + 2 * DAY)
    assert (later.older, later.bridges) == ((), ())


def test_an_authority_is_kept_and_read_again(tmp_path: Path) -> None:
    kept = authority().succeeded_by(authority(), NOW)
    again = Authority.of_files(kept.as_files())
    assert again.as_files() == kept.as_files()
    assert "PRIVATE" not in repr(again)
    assert "PrivateKey" not in repr(again)
    node = issue(again, NODE, NOW, DAY)
    assert Issued.of_keystore(node.keystore).keystore == node.keystore


def test_a_certificate_is_due_for_another_when_something_changed_or_its_end_is_near() -> None:
    ca = authority()
    node = issue(ca, NODE, NOW, 30 * DAY)
    assert not is_due(node, ca, NODE, NOW, 10 * DAY)
    assert is_due(node, ca, NODE, NOW + 21 * DAY, 10 * DAY)
    assert is_due(node, ca, Wanted("demo-broker", "nodes", (*NODE.names, "broker.example.com")), NOW, 10 * DAY)
    assert is_due(node, ca, Wanted("demo-coordinator", "nodes", NODE.names), NOW, 10 * DAY)
    assert is_due(node, ca.succeeded_by(authority(), NOW), NODE, NOW, 10 * DAY)
    short = issue(ca, NODE, NOW, DAY)
    assert not is_due(short, ca, NODE, NOW, 10 * DAY), "a life shorter than renew_before is not renewed at every look"


def test_no_certificate_outlives_its_authority() -> None:
    ca = authority(days=5)
    assert issue(ca, NODE, NOW, 30 * DAY).certificate.not_valid_after_utc == ca.certificate.not_valid_after_utc


def test_the_subject_reads_as_kafka_prints_it() -> None:
    assert issue(authority(), NODE, NOW, DAY).certificate.subject.rfc4514_string() == NODE.principal
    assert NODE.principal == "CN=demo-broker,OU=nodes"
    assert USER.principal == "CN=shop"


def test_somebody_elses_authority_is_refused_in_words() -> None:
    ca, other = authority(), authority()
    certificate, key = ca.trust, key_pem(ca.key)
    assert Authority.of_pem(certificate, key).certificate == ca.certificate
    with pytest.raises(BadAuthority, match="not that of the certificate"):
        Authority.of_pem(certificate, key_pem(other.key))
    with pytest.raises(BadAuthority, match="in PEM"):
        Authority.of_pem(b"nonsense", key)
    with pytest.raises(BadAuthority, match="in PEM"):
        Authority.of_pem(certificate, b"nonsense")
    node = issue(ca, NODE, NOW, DAY)
    with pytest.raises(BadAuthority, match="CA:TRUE"):
        Authority.of_pem(node.certificates, node.key_text)
    bare_key = new_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bare")])
    bare = x509.CertificateBuilder(name, name, bare_key.public_key(), 1, NOW, NOW + DAY).sign(bare_key, hashes.SHA256())
    with pytest.raises(BadAuthority, match="CA:TRUE"):
        Authority.of_pem(Issued(bare, bare_key).certificates, key_pem(bare_key))
    with pytest.raises(BadAuthority, match=r"no ca\.key"):
        Authority.of_files({"ca.crt": ca.trust})
