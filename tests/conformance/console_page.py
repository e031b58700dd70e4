"""What a browser does with the console: keeps its cookie, shows its token, reads JSON and streams of events."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

TIMEOUT_S = 30


def console_of(ready_line: str) -> str:
    """Where a node's is, by the line that it prints."""
    found = re.search(r"http://[\d.]+:\d+", ready_line)
    assert found is not None, ready_line
    return found.group()


class Answer:
    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """What went wrong."""
        code: str = self.document["error"]["code"]
        return code


class ConsolePage:
    def __init__(self, url: str) -> None:
        self.url = url
        self.cookie = ""
        self.token = ""
        self.token = self.get("session")["token"]

    def get(self, name: str, /, **query: object) -> Any:
        return _well(self.ask(f"/api/{name}?{urllib.parse.urlencode(query)}"))

    def post(self, name: str, /, **document: object) -> Any:
        return _well(self.send(name, **document))

    def send(self, name: str, /, *, token: str | None = None, **document: object) -> Answer:
        headers = {"Content-Type": "application/json", "X-Console-Token": self.token if token is None else token}
        return self.ask(f"/api/{name}", json.dumps(document).encode(), headers)

    def ask(self, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        try:
            with self._opened(path, body, headers or {}) as response:
                self._keep_cookie(response)
                return Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())

    def events(self, name: str, /, **query: object) -> Iterator[Any]:
        """Until whoever reads closes it."""
        with self._opened(f"/api/{name}?{urllib.parse.urlencode(query)}", None, {}) as response:
            assert response.headers["Content-Type"].startswith("text/event-stream")
            for line in response:
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))

    def _opened(self, path: str, body: bytes | None, headers: dict[str, str]) -> HTTPResponse:
        cookie = {"Cookie": self.cookie} if self.cookie else {}
        request = urllib.request.Request(self.url + path, body, {**cookie, **headers})
        response: HTTPResponse = urllib.request.urlopen(request, timeout=TIMEOUT_S)
        return response

    def _keep_cookie(self, response: HTTPResponse) -> None:
        given = response.headers.get("Set-Cookie")
        if given is not None:
            self.cookie = given.partition(";")[0]


def _well(answer: Answer) -> Any:
    assert answer.status == 200, (answer.status, answer.body[:500])
    return answer.document
