"""`millstream token` beside Kafka's own tool: the same facts, the same effects."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import servers
from kafka_tools import run_tool

from millstream.testing import Millstream

TIMEOUT_S = 60
HOUR_MS = 3_600_000
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
tokens = pytest.mark.millstream(
    users={"admin": "secret", "alice": "apples", "bob": "pears"},
    settings={
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "delegation.token.secret.key": "a key of all nodes",
        "delegation.token.expiry.time.ms": str(HOUR_MS),
    },
)


class CommandLine:
    """What one user says to one cluster."""

    def __init__(self, cluster: Millstream, user: str, directory: Path) -> None:
        self.bootstrap = cluster.bootstrap_servers
        self.properties = directory / f"{user}.properties"
        self.write(cluster.client_properties(user))

    def write(self, properties: dict[str, str]) -> None:
        self.properties.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    def run(self, *arguments: str, code: int = 0) -> str:
        at = ["--bootstrap", self.bootstrap, "--command-config", str(self.properties)]
        command = [servers.MILLSTREAM, *arguments, *at]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code else done.stdout

    def ask(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))

    def kafka(self, *arguments: str) -> str:
        at = ["--bootstrap-server", self.bootstrap, "--command-config", str(self.properties)]
        done = run_tool("kafka-delegation-tokens", [*at, *arguments])
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@needs_java
@tokens
def test_kafkas_tool_and_ours_see_each_others_tokens(millstream: Millstream, tmp_path: Path) -> None:
    alice = CommandLine(millstream, "alice", tmp_path)
    made = alice.ask("token", "create", "--renewer", "bob", "--max-life", "6h")
    assert (made["owner"], made["renewers"]) == ("User:alice", ["User:bob"])
    assert made["most_ms"] - made["issued_ms"] == 6 * HOUR_MS
    assert made["expires_ms"] - made["issued_ms"] == HOUR_MS

    def kafka_shows_it() -> None:
        described = alice.kafka("--describe", "--owner-principal", "User:alice").splitlines()
        lines = [each for each in described if made["token_id"] in each]
        assert len(lines) == 1
        assert made["hmac"] in lines[0]
        assert "User:bob" in lines[0]

    servers.eventually(kafka_shows_it)
    alice.kafka("--create", "--max-life-time-period", "-1")
    servers.eventually(lambda: expect(len(alice.ask("token", "describe")) == 2))
    bob = CommandLine(millstream, "bob", tmp_path)
    assert [each["token_id"] for each in bob.ask("token", "describe")] == [made["token_id"]]
    assert bob.ask("token", "describe", "--owner", "carol") == []
    assert made["hmac"] not in alice.run("token", "describe") + alice.run("token", "describe", "--json")


@tokens
def test_a_token_logs_in_until_it_expires(millstream: Millstream, tmp_path: Path) -> None:
    alice, bob = (CommandLine(millstream, user, tmp_path) for user in ("alice", "bob"))
    made = alice.ask("token", "create", "--renewer", "User:bob", "--max-life", "7d")
    with_token = CommandLine(millstream, "admin", tmp_path)
    with_token.write(
        {
            **millstream.client_properties("alice"),
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
            f'username="{made["token_id"]}" password="{made["hmac"]}" tokenauth="true";',
        }
    )
    servers.eventually(lambda: expect(bool(with_token.run("topic", "list"))))
    renewed = bob.ask("token", "renew", made["token_id"], "--for", "2h")
    assert renewed["expires_ms"] > made["expires_ms"] + HOUR_MS // 2
    alice.run("token", "expire", made["token_id"])
    servers.eventually(lambda: expect(alice.ask("token", "describe") == []))
    assert "invalid credentials" in with_token.run("topic", "list", code=3)
    assert "DELEGATION_TOKEN_NOT_FOUND" in alice.run("token", "renew", "unknown", code=1)
    assert "6h or 7d expected" in alice.run("token", "create", "--max-life", "soon", code=1)


def expect(holds: bool) -> None:
    assert holds
