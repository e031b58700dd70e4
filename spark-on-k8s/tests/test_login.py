"""How the files of a User's Secret become the settings of two kinds of clients."""

from pathlib import Path

import pytest

from millstream_spark.errors import BadCredentials
from millstream_spark.login import Login, bootstrap_servers_of, read_login

SCRAM = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "username": "archiver",
    "password": "hush",
    "sasl.jaas.config": 'ScramLoginModule required username="archiver" password="hush";',
    "ca.crt": "PEM",
}


def secret(directory: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (directory / name).write_text(text)
    return str(directory)


def test_without_credentials_nothing_is_set() -> None:
    assert read_login(None) == Login()


def test_sparks_options_name_the_passwords_file_and_never_the_password(tmp_path: Path) -> None:
    found = read_login(secret(tmp_path, SCRAM))
    assert found.java["security.protocol"] == "SASL_SSL"
    assert found.java["sasl.mechanism"] == "SCRAM-SHA-512"
    assert found.java["sasl.jaas.config"] == f"${{user:{tmp_path}:sasl.jaas.config}}"
    assert "hush" not in repr(found)
    assert "hush" not in str(dict(found.java))
    assert (found.librdkafka["sasl.username"], found.librdkafka["sasl.password"]) == ("archiver", "hush")


def test_a_certificate_is_shown_by_both_clients(tmp_path: Path) -> None:
    found = read_login(secret(tmp_path, {"security.protocol": "SSL"}))
    assert found.java["ssl.keystore.location"] == f"{tmp_path}/keystore.pem"
    assert found.librdkafka["ssl.key.location"] == f"{tmp_path}/user.key"
    assert not [key for key in found.java if key.startswith("sasl")]


PROPERTIES = r"""
# As the Secret of a User has it.
bootstrap.servers=b:9092
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="archiver" password="a\\\"b\\\\c";
ssl.truststore.type=PEM
ssl.truststore.certificates=-----BEGIN\n\
  line\n\
  -----END
"""


def test_client_properties_are_taken_by_both_clients(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(PROPERTIES)
    found = read_login(str(path))
    assert found.java["sasl.jaas.config"] == f"${{file:{path}:sasl.jaas.config}}"
    assert found.java["config.providers.file.class"].endswith("FileConfigProvider")
    assert "archiver" not in str(dict(found.java))
    assert (found.librdkafka["sasl.username"], found.librdkafka["sasl.password"]) == ("archiver", 'a"b\\c')
    assert found.librdkafka["ssl.ca.pem"] == "-----BEGIN\nline\n-----END"
    assert bootstrap_servers_of(str(path)) == "b:9092"


@pytest.mark.parametrize(
    "line", ["ssl.truststore.type=JKS", "sasl.kerberos.service.name=kafka", "sasl.jaas.config=X required;"]
)
def test_client_properties_that_only_one_client_knows_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "client.properties"
    path.write_text(line)
    with pytest.raises(BadCredentials, match=line.split("=")[0]):
        read_login(str(path))


def test_another_directory_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(BadCredentials, match=r"security\.protocol"):
        read_login(str(tmp_path))
    secret(tmp_path, {name: text for name, text in SCRAM.items() if name != "password"})
    with pytest.raises(BadCredentials, match="password"):
        read_login(str(tmp_path))
