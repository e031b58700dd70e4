"""What comes to the console from outside does no harm: pages, tokens and hosts of strangers, hostile names and bodies."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import servers
from console_page import ConsolePage
from console_scene import create, written

MARKUP = b"<img src=x onerror=\"alert(1)\"><script>alert('x')</script>"


def test_the_page_is_served_by_itself_and_a_browser_may_load_nothing_else(page: ConsolePage) -> None:
    answer = page.ask("/")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    files = Files()
    files.feed(answer.body.decode())
    assert files.inline == []
    assert "/main.js" in files.named
    for path in files.named:
        assert page.ask(path).status == 200, path
    again = page.ask("/main.js", headers={"If-None-Match": page.ask("/main.js").headers["ETag"]})
    assert (again.status, again.body) == (304, b"")


class Files(HTMLParser):
    """What a page names, and what is in it that a strict policy forbids."""

    def __init__(self) -> None:
        super().__init__()
        self.named: list[str] = []
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.named += [str(given[key]) for key in ("src", "href") if given.get(key, "").startswith("/")]  # type: ignore[union-attr]
        self.inline += [key for key in given if key == "style" or key.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)


def test_every_module_that_a_module_names_is_there(page: ConsolePage) -> None:
    seen, left = set(), ["/main.js"]
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = page.ask(path)
        assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8", path
        for name in re.findall(r"(?:from|import\()\s*\"(\.[^\"]+)\"", answer.body.decode()):
            left.append("/" + str((Path(path).parent / name).resolve().relative_to("/")))
        assert "innerHTML" not in answer.body.decode()
    assert "/pages/messages.js" in seen


@pytest.mark.parametrize(
    "path", ["/../settings.py", "/%2e%2e/settings.py", "/settings.py", "//etc/passwd", "/api/nothing"]
)
def test_nothing_but_its_files_is_served(page: ConsolePage, path: str) -> None:
    assert page.ask(path).status == 404


def test_only_a_page_that_it_gave_out_can_change_anything(page: ConsolePage, made: str) -> None:
    asked = {"topic": made, "value": {"format": "string", "text": "x"}}
    stranger = ConsolePage(page.url)
    assert stranger.cookie != page.cookie
    for token in ("", "x" * 64, stranger.token, "ä"):
        refused = page.ask(
            "/api/messages/send", json.dumps(asked).encode(), {"X-Console-Token": token.encode().decode("latin-1")}
        )
        assert (refused.status, refused.code) == (403, "WRONG_TOKEN"), token
    stranger.cookie = ""
    assert stranger.send("messages/send", **asked).code == "WRONG_TOKEN"
    assert page.send("messages/send", **asked).status == 200
    assert "HttpOnly" in (given := page.ask("/api/session").headers["Set-Cookie"])
    assert "SameSite=Strict" in given


def test_a_name_that_somebody_points_here_is_not_ours(page: ConsolePage) -> None:
    for host in ("evil.example", "evil.example:9096", "127.0.0.1.evil.example", ""):
        assert page.ask("/api/overview", headers={"Host": host}).status in (400, 421), host
    stranger = ConsolePage(page.url)
    for host in ("localhost", "[::1]:9096", "127.0.0.1"):
        assert stranger.ask("/api/session", headers={"Host": host}).status == 200, host


def test_bodies_of_every_kind_do_no_harm(page: ConsolePage, node: servers.ServerProcess, topic: str) -> None:
    create(node, topic, 1, **{"max.message.bytes": "12000000"})
    big = b'{"<b>": "' + b"x" * 10_000_000 + b'"}'
    bodies = [MARKUP, b"\xff\xfe\x00\xc3\x28", None, b"", big, b"\x1b[2J", "\u202eabc".encode()]
    written(node, topic, [{"value": body} for body in bodies], **{"message.max.bytes": 12_000_000})
    raw = page.send("messages", topic=topic, **{"from": "oldest"})
    assert len(raw.body) < 100_000
    shown = [row["value"] for row in raw.document["rows"]]
    assert [each["kind"] for each in shown] == ["text", "binary", "null", "text", "text", "binary", "text"]
    assert shown[0]["text"] == MARKUP.decode()
    assert (shown[4]["size"], shown[4]["cut"], len(shown[4]["text"])) == (len(big), True, 2_000)
    whole = page.get("message", topic=topic, partition=0, offset=4)["value"]
    assert (len(whole["text"]), whole["cut"]) == (1_000_000, True)
    saved = page.ask(f"/api/message/body?topic={topic}&partition=0&offset=4")
    assert saved.body == big
    assert saved.headers["Content-Type"] == "application/octet-stream"
    assert saved.headers["Content-Disposition"].startswith("attachment")
    assert page.ask(f"/api/message?topic={topic}&partition=0&offset=7").code == "OFFSET_OUT_OF_RANGE"


def test_names_from_outside_are_only_ever_values(page: ConsolePage) -> None:
    name = MARKUP.decode()
    refused = page.ask("/api/topic?" + "topic=" + "%3Cscript%3E")
    assert refused.headers["Content-Type"].startswith("application/json")
    assert refused.headers["X-Content-Type-Options"] == "nosniff"
    assert page.send("messages", topic=name).status in (404, 409)
