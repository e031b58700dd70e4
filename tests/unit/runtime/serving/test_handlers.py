"""A wrong row of a table of handlers is found by the type checker, not by the first client."""

import re
from pathlib import Path

from mypy import api

ROOT = Path(__file__).parents[4]

ROWS = """
from collections.abc import Awaitable

from millstream_runtime.serving.context import RawReply, RequestContext
from millstream_runtime.serving.handlers import Handlers, serve
from millstream_wire import messages as m
from millstream_wire.api import ApiKey
from millstream_wire.schema import Request, Response
from typing import TypeVar

R = TypeVar("R", bound=Response)

class Broker: ...
class Controller: ...

def heartbeat(app: Broker, request: m.HeartbeatRequest, context: RequestContext) -> m.HeartbeatResponse:
    raise NotImplementedError
async def later(app: Broker, request: m.HeartbeatRequest, context: RequestContext) -> m.HeartbeatResponse | RawReply:
    raise NotImplementedError
def sometimes(
    app: Broker, request: m.HeartbeatRequest, context: RequestContext
) -> m.HeartbeatResponse | Awaitable[m.HeartbeatResponse | None] | None:
    raise NotImplementedError
def of_any(app: Broker, request: Request[R], context: RequestContext) -> R:
    raise NotImplementedError
def in_bytes(app: Broker, frame: bytes | memoryview, position: int, context: RequestContext) -> bytes | None:
    raise NotImplementedError
def of_another_request(app: Broker, request: m.SyncGroupRequest, context: RequestContext) -> m.HeartbeatResponse:
    raise NotImplementedError
def with_another_answer(app: Broker, request: m.HeartbeatRequest, context: RequestContext) -> m.SyncGroupResponse:
    raise NotImplementedError
async def later_with_another(app: Broker, request: m.HeartbeatRequest, context: RequestContext) -> m.SyncGroupResponse:
    raise NotImplementedError
def of_another_app(app: Controller, request: m.HeartbeatRequest, context: RequestContext) -> m.HeartbeatResponse:
    raise NotImplementedError
def without_context(app: Broker, request: m.HeartbeatRequest) -> m.HeartbeatResponse:
    raise NotImplementedError
def in_bytes_elsewhere(app: Controller, frame: bytes | memoryview, position: int, context: RequestContext) -> bytes | None:
    raise NotImplementedError

a: Handlers[Broker] = {ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, heartbeat)}
b: Handlers[Broker] = {ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, later)}
c: Handlers[Broker] = {ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, sometimes, shortcut=in_bytes)}
d: Handlers[Broker] = {ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, of_any)}
e: Handlers[Broker] = {ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, of_another_request)}  # wrong
f: Handlers[Broker] = {ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, with_another_answer)}  # wrong
g: Handlers[Broker] = {ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, later_with_another)}  # wrong
h: Handlers[Broker] = {ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, of_another_app)}  # wrong
i: Handlers[Broker] = {ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, without_context)}  # wrong
j: Handlers[Broker] = {ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, heartbeat, shortcut=in_bytes_elsewhere)}  # wrong
k: Handlers[Broker] = {ApiKey.HEARTBEAT: heartbeat}  # wrong
"""


def test_only_rows_that_fit_their_api_and_service_type_check(tmp_path: Path, monkeypatch) -> None:
    table = tmp_path / "table.py"
    table.write_text(ROWS)
    monkeypatch.chdir(ROOT)
    report, trouble, _ = api.run(["--config-file", "pyproject.toml", "--cache-dir", str(tmp_path), str(table)])
    assert not trouble
    wrong = {number for number, line in enumerate(ROWS.splitlines(), 1) if line.endswith("# wrong")}
    assert len(wrong) == 7
    assert {int(number) for number in re.findall(r"table\.py:(\d+): error", report)} == wrong, report
