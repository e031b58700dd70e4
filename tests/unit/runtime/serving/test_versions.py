"""Two releases without a common version of an API: whoever asks is told which of them is too old."""

from dataclasses import replace

import pytest

from millstream_runtime.nodes import client
from millstream_runtime.nodes.client import Client, VersionNotSupported
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_wire.api import API, ApiKey
from millstream_wire.messages import HeartbeatRequest, HeartbeatResponse

HANDLERS = {ApiKey.HEARTBEAT: serve(HeartbeatRequest, lambda app, request, context: HeartbeatResponse())}


def test_it_is_said_which_side_is_too_old(hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    async def course() -> None:
        server = Server("broker-1", HANDLERS, None, hosts.world("server"))
        listener = await server.listen(hosts.address("server"), 0)
        newer = await Client.connect(hosts.world("client"), hosts.address("server"), listener.port, client_id="me")
        monkeypatch.setattr(client, "API", {**API, ApiKey.HEARTBEAT: replace(API[ApiKey.HEARTBEAT], versions=(90, 99))})
        with pytest.raises(VersionNotSupported, match="speaks Heartbeat in versions 0 to 4, not in 90 to 99: it is of"):
            await newer.request(HeartbeatRequest(), timeout_ms=5000)
        monkeypatch.setattr(client, "API", {**API, ApiKey.HEARTBEAT: replace(API[ApiKey.HEARTBEAT], versions=(-1, -1))})
        with pytest.raises(VersionNotSupported, match="this program is of too old a release"):
            await newer.request(HeartbeatRequest(), timeout_ms=5000)
        await newer.close()
        await server.close()

    hosts.run(course())
