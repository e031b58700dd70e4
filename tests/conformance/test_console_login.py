"""The console where people log in: each may see and do what the cluster lets them, and nothing without a login."""

from collections.abc import Iterator

import pytest
import servers
from confluent_kafka.admin import AdminClient, NewTopic
from console_page import ConsolePage, console_of
from sasl_scene import JAAS

ROOT, PASSWORD = "root", "root's <b>secret</b>"
TIMEOUT_S = 30


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.ServerProcess]:
    directory = tmp_path_factory.mktemp("node")
    port = servers.free_port()
    own = "listener.name.sasl_plaintext."
    properties = {
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{port}",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,PLAIN",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
        f"{own}plain.sasl.jaas.config": f'{JAAS}.plain.PlainLoginModule required user_guest="guest";',
        f"{own}scram-sha-256.sasl.jaas.config": f'{JAAS}.scram.ScramLoginModule required username="{ROOT}" password="{PASSWORD}";',
        "super.users": f"User:{ROOT}",
    }
    config = directory / "node.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    first = f'SCRAM-SHA-256=[name={ROOT},password="{PASSWORD}"]'
    with servers.node(directory, port=port, more=["--config", str(config), "--add-scram", first]) as server:
        admin = AdminClient(
            {
                "bootstrap.servers": server.bootstrap,
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.username": ROOT,
                "sasl.password": PASSWORD,
            }
        )
        for created in admin.create_topics([NewTopic("hers", 1, 1), NewTopic("others", 1, 1)]).values():
            created.result(TIMEOUT_S)
        yield server


def logged_in(node: servers.ServerProcess, user: str, password: str, mechanism: str = "SCRAM-SHA-256") -> ConsolePage:
    page = ConsolePage(console_of(node.ready_line))
    page.token = page.post("login", user=user, password=password, mechanism=mechanism)["token"]
    return page


@pytest.fixture(scope="module")
def root(node: servers.ServerProcess) -> ConsolePage:
    return logged_in(node, ROOT, PASSWORD)


def acl(**more: str) -> dict[str, str]:
    every = {"principal": "User:alice", "permission": "allow", "operation": "read", "resource": "topic", "name": "hers"}
    return {**every, "pattern": "literal", "host": "*", **more}


def test_without_a_login_nothing_is_shown(node: servers.ServerProcess) -> None:
    page = ConsolePage(console_of(node.ready_line))
    session = page.get("session")
    assert (session["needs_login"], session["user"]) == (True, None)
    assert session["mechanisms"] == ["SCRAM-SHA-256", "PLAIN"]
    assert page.ask("/").status == 200
    for name in ("overview", "topics", "users", "messages/follow?topic=hers", "message?topic=hers"):
        assert page.ask(f"/api/{name}").code == "NOT_LOGGED_IN", name
    assert page.send("messages", topic="hers").code == "NOT_LOGGED_IN"


@pytest.mark.parametrize(
    ("user", "password", "mechanism"),
    [(ROOT, "wrong", "SCRAM-SHA-256"), ("nobody", "x", "SCRAM-SHA-256"), ("guest", "wrong", "PLAIN")],
)
def test_who_is_not_known_is_not_let_in(node: servers.ServerProcess, user: str, password: str, mechanism: str) -> None:
    page = ConsolePage(console_of(node.ready_line))
    refused = page.send("login", user=user, password=password, mechanism=mechanism)
    assert (refused.status, refused.code) == (401, "SASL_AUTHENTICATION_FAILED")
    assert page.ask("/api/overview").code == "NOT_LOGGED_IN"


def test_a_login_needs_a_mechanism_that_is_offered_and_a_page_of_ours(node: servers.ServerProcess) -> None:
    page = ConsolePage(console_of(node.ready_line))
    assert page.send("login", user=ROOT, password=PASSWORD, mechanism="OAUTHBEARER").code == "INVALID"
    assert page.send("login", user=ROOT).code == "INVALID"
    assert page.send("login", token="", user=ROOT, password=PASSWORD).code == "WRONG_TOKEN"


def test_each_sees_and_does_what_the_cluster_lets_that_user(node: servers.ServerProcess, root: ConsolePage) -> None:
    root.post("user/password", user="alice", password="pass word", mechanism="SCRAM-SHA-256")
    for operation in ("read", "describe"):
        root.post("acl/create", **acl(operation=operation))
    servers.eventually(lambda: _can_log_in(node, "alice", "pass word"))
    alice = logged_in(node, "alice", "pass word")
    assert alice.get("session")["user"] == "alice"
    servers.eventually(lambda: _topics(alice, ["hers"]))
    assert "others" in [each["topic"] for each in root.get("topics")["rows"]]
    root.post("messages/send", topic="hers", value={"format": "string", "text": "for her"})
    assert [row["value"]["text"] for row in alice.post("messages", topic="hers")["rows"]] == ["for her"]
    assert alice.get("overview")["topics"] == 1
    for name, asked in (
        ("messages/send", {"topic": "hers", "value": None}),
        ("acl/create", acl()),
        ("brokers/elect", {}),
    ):
        refused = alice.send(name, **asked)
        assert refused.status == 403, (name, refused.body)
    assert alice.ask("/api/users").status == 403
    assert alice.ask("/api/topic?topic=others").status in (403, 404)
    assert "alice" in [each["user"] for each in root.get("users")["rows"]]
    rows = root.get("acls", filter="alice")["rows"]
    assert sorted(each["operation"] for each in rows) == ["describe", "read"]
    root.post("acl/delete", **acl(operation="read"))
    servers.eventually(lambda: _refused(alice))
    root.post("user/delete", user="alice", mechanism="SCRAM-SHA-256")
    servers.eventually(lambda: _cannot_log_in(node))


def _can_log_in(node: servers.ServerProcess, user: str, password: str) -> None:
    page = ConsolePage(console_of(node.ready_line))
    assert page.send("login", user=user, password=password, mechanism="SCRAM-SHA-256").status == 200


def _cannot_log_in(node: servers.ServerProcess) -> None:
    page = ConsolePage(console_of(node.ready_line))
    assert page.send("login", user="alice", password="pass word", mechanism="SCRAM-SHA-256").status == 401


def _topics(page: ConsolePage, names: list[str]) -> None:
    assert [each["topic"] for each in page.get("topics")["rows"]] == names


def _refused(page: ConsolePage) -> None:
    assert page.send("messages", topic="hers").status == 403


def test_plain_lets_in_too_and_a_logout_ends_it(node: servers.ServerProcess) -> None:
    guest = logged_in(node, "guest", "guest", "PLAIN")
    assert guest.get("session")["user"] == "guest"
    before = guest.cookie
    guest.post("logout")
    assert guest.cookie != before
    guest.cookie = before
    assert guest.ask("/api/overview").code == "NOT_LOGGED_IN"


def test_a_cookie_of_before_the_login_is_worth_nothing_after_it(node: servers.ServerProcess) -> None:
    page = ConsolePage(console_of(node.ready_line))
    planted = page.cookie
    page.token = page.post("login", user=ROOT, password=PASSWORD, mechanism="SCRAM-SHA-256")["token"]
    assert page.get("overview")["brokers"]
    page.cookie = planted
    assert page.ask("/api/overview").code == "NOT_LOGGED_IN"
