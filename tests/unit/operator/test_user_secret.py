"""What a user's Secret holds, read as clients read it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from millstream_operator.certificates.authority import Authority
from millstream_operator.certificates.issue import Wanted, issue
from millstream_operator.kube.secrets import files_of, secret_manifest
from millstream_operator.plan.user_secret import scram_files, tls_files
from millstream_operator.resources.identity import ClusterIdentity
from millstream_runtime.properties import Properties

CLUSTER = ClusterIdentity("demo", "apps", "uid-1")
NOW = datetime.now(UTC)
CA = Authority.new("demo", NOW, timedelta(days=10))


def java_properties(text: bytes) -> dict[str, str]:
    """As Java's Properties.load, for what is in these files."""
    joined = text.decode().replace("\\\\", "\0").replace("\\n\\\n", "\n\1").replace("\\n", "\n")
    pairs = [line.partition("=") for line in joined.replace("\n\1", "\1").splitlines()]
    return {key: value.replace("\1", "\n").replace("\0", "\\") for key, _, value in pairs}


def test_a_users_secret_has_all_that_a_client_needs(tmp_path: Path) -> None:
    files = scram_files(CLUSTER, CA.trust, "shop", 'pass"\\word')
    assert (files["username"], files["password"]) == (b"shop", b'pass"\\word')
    found = java_properties(files["client.properties"])
    assert found["bootstrap.servers"] == "demo-bootstrap.apps.svc:9092"
    assert (found["security.protocol"], found["sasl.mechanism"]) == ("SASL_SSL", "SCRAM-SHA-512")
    assert found["sasl.jaas.config"] == (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="shop" password="pass\\"\\\\word";'
    )
    assert found["sasl.jaas.config"].encode() == files["sasl.jaas.config"]
    assert found["ssl.truststore.certificates"] == CA.trust.decode().strip()
    assert files["ca.crt"] == CA.trust
    ours = tmp_path / "client.properties"
    ours.write_bytes(files["client.properties"])
    assert Properties.read(ours).text("security.protocol") == "SASL_SSL"


def test_a_certificates_secret_has_key_and_certificate_in_every_form() -> None:
    issued = issue(CA, Wanted("shop"), NOW, timedelta(days=1))
    files = tls_files(CLUSTER, CA.trust, issued)
    assert files["keystore.pem"] == files["user.key"] + files["user.crt"]
    found = java_properties(files["client.properties"])
    assert (found["security.protocol"], found["bootstrap.servers"]) == ("SSL", "demo-bootstrap.apps.svc:9098")
    assert found["ssl.keystore.key"].encode() == files["user.key"].strip()
    assert found["ssl.keystore.certificate.chain"].encode() == files["user.crt"].strip()


def test_a_secret_is_read_as_it_was_written() -> None:
    files = {"a": b"\x00\xff", "b": b""}
    assert files_of(secret_manifest({"name": "s"}, files)) == files
    assert files_of({}) == {}
    assert files_of({"data": {"bad": "***", "good": "eA=="}}) == {"good": b"x"}
