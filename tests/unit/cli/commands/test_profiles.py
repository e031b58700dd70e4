"""Profiles: who may read them, which one counts, and that a password goes to no other address than its own."""

import asyncio
import os
from argparse import Namespace
from pathlib import Path

import pytest

from millstream.commands import profile
from millstream.commands.connection import properties_of
from millstream.commands.profiles import chosen_profile, profile_names, read_profile, use_profile
from millstream.main import command_parser
from millstream_client.errors import InvalidData


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("MILLSTREAM_PROFILE", raising=False)
    return tmp_path


def parsed(*arguments: str) -> Namespace:
    return command_parser().parse_args(arguments)


def run(*arguments: str) -> None:
    asyncio.run(profile.work(parsed("profile", *arguments)))


def asked(*arguments: str) -> dict[str, str]:
    return properties_of(parsed("topic", "list", *arguments))


@pytest.fixture
def properties(home: Path) -> Path:
    path = home / "client.properties"
    path.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nssl.truststore.location=ca.pem\n"
        'sasl.jaas.config=x.PlainLoginModule required username="alice" password="sesame";\n'
    )
    return path


def test_a_profile_in_use_is_where_commands_go_and_nobody_else_reads_it(home: Path, properties: Path) -> None:
    assert asked() == {}
    old = os.umask(0)
    try:
        run("create", "shop", "--bootstrap", "b:9092", "--command-config", str(properties), "--use")
    finally:
        os.umask(old)
    path = home / "config/millstream/profiles/shop.properties"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    assert chosen_profile() == "shop"
    assert asked()["bootstrap.servers"] == "b:9092"
    assert asked()["security.protocol"] == "SASL_PLAINTEXT"
    assert asked()["ssl.truststore.location"] == str(Path("ca.pem").resolve())


def test_its_password_goes_to_no_address_that_is_named_otherwise(properties: Path) -> None:
    run("create", "shop", "--bootstrap", "b:9092", "--command-config", str(properties), "--use")
    assert asked("--bootstrap", "elsewhere:9092") == {"bootstrap.servers": "elsewhere:9092"}
    assert "sesame" in asked("--bootstrap", "tunnel:9092", "--profile", "shop")["sasl.jaas.config"]


def test_the_environment_names_one_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run("create", "one", "--bootstrap", "one:9092", "--use")
    run("create", "two", "--bootstrap", "two:9092")
    monkeypatch.setenv("MILLSTREAM_PROFILE", "two")
    assert asked() == {"bootstrap.servers": "two:9092"}
    assert asked("--profile", "one") == {"bootstrap.servers": "one:9092"}


def test_what_others_may_read_is_not_used(home: Path) -> None:
    run("create", "shop", "--bootstrap", "b:9092")
    (home / "config/millstream/profiles/shop.properties").chmod(0o640)
    with pytest.raises(InvalidData, match="chmod 600"):
        read_profile("shop")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["create", "x"], "where is it"),
        (["create", "../x", "--bootstrap", "b:9092"], "a profile's name"),
        (["create", "x", "--bootstrap", "b:port"], "no address"),
        (["create", "x", "--bootstrap", "b:9092", "--command-config", "/nowhere"], "cannot read"),
        (["create", "shop", "--bootstrap", "b:9092"], "--replace"),
        (["use", "other"], "there are: shop"),
        (["delete", "other"], "there are: shop"),
    ],
)
def test_what_is_refused(arguments: list[str], complaint: str) -> None:
    run("create", "shop", "--bootstrap", "b:9092")
    with pytest.raises(InvalidData, match=complaint):
        run(*arguments)
    assert profile_names() == ["shop"]


def test_a_list_shows_no_secret_and_what_is_deleted_is_not_in_use(
    properties: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("create", "shop", "--bootstrap", "b:9092", "--command-config", str(properties))
    use_profile("shop")
    run("list")
    shown = capsys.readouterr().out
    assert "shop" in shown
    assert "SASL_PLAINTEXT" in shown
    assert "sesame" not in shown
    run("delete", "shop")
    assert (profile_names(), chosen_profile()) == ([], None)
