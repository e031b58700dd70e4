"""How fast and how many connections are let in, beside Apache Kafka in the same run: who waits, and that nobody is dropped."""

import shutil
import time
from pathlib import Path

import pytest
import servers
from kafka_broker import KafkaBroker
from quota_scene import CONNECTIONS, LATE_MS, codes, quotas, timed
from wire_client import WireClient

from millstream_wire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from millstream_wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

BROKER = 4
LISTENER_MAX = "listener.name.plaintext.max.connections"


def _until_closed_ms(client: WireClient) -> float:
    began = time.monotonic()
    client.socket.settimeout(5)
    assert client.socket.recv(1) == b""
    return (time.monotonic() - began) * 1000


def test_who_connects_too_often_is_let_in_no_further_for_a_while(anywhere: str) -> None:
    address = f"127.9.{int(time.time()) % 250}.7"
    with quotas(anywhere, ({"ip": address}, {CONNECTIONS: 2.0})):
        peers = [WireClient(anywhere, source=address) for _ in range(20)]
        for peer in peers:
            peer.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        with WireClient(anywhere, source=address) as late:
            assert 300 < _until_closed_ms(late) < LATE_MS
        with WireClient(anywhere, source="127.0.0.1") as other:
            other.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        for peer in peers:
            peer.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
            peer.close()


def _set_for_all(bootstrap: str, key: str, value: str | None) -> None:
    config = AlterableConfig(name=key, config_operation=1 if value is None else 0, value=value)
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="", configs=[config])
    with WireClient(bootstrap) as client:
        request = IncrementalAlterConfigsRequest(resources=[resource])
        answer = client.call(request, 1, IncrementalAlterConfigsResponse)
    assert codes(answer.responses) == [(0, "")] or codes(answer.responses) == [(0, None)]


def test_connections_that_come_too_fast_wait_to_be_accepted(anywhere: str) -> None:
    _set_for_all(anywhere, "max.connection.creation.rate", "5")
    try:
        time.sleep(12)  # what came before counts, too
        took_ms, peers = [], []
        for _ in range(60):
            peer = WireClient(anywhere)
            _, each_ms = timed(peer, ApiVersionsRequest(), 0, ApiVersionsResponse)
            took_ms.append(each_ms)
            peers.append(peer)
        assert max(took_ms[:40]) < 100 or sum(took_ms[:40]) < 2_000
        assert 500 < sum(took_ms[50:]) < 15_000
        assert max(took_ms) < LATE_MS
    finally:
        for peer in peers:
            peer.close()
        _set_for_all(anywhere, "max.connection.creation.rate", None)


def test_connections_beyond_a_listeners_most_wait_until_there_is_room(fresh: Path) -> None:
    def seen(bootstrap: str) -> list[str]:
        peers: list[WireClient] = []
        try:
            while len(peers) <= 10:
                peers.append(WireClient(bootstrap))
                peers[-1].socket.settimeout(1)
                peers[-1].call(ApiVersionsRequest(), 0, ApiVersionsResponse)
            return ["nobody had to wait"]
        except TimeoutError:
            waiting = peers.pop()
            peers[0].close()
            waiting.receive(ApiVersionsResponse, 0)
            peers[1].call(ApiVersionsRequest(), 0, ApiVersionsResponse)
            waiting.close()
            return ["one waited, and was let in when another had left"]
        finally:
            for each in peers:
                each.close()

    broker = KafkaBroker(fresh / "kafka", properties={LISTENER_MAX: "8"})
    broker.start()
    try:
        theirs = seen(broker.bootstrap)
    finally:
        broker.stop()
    with servers.node(fresh, f"{LISTENER_MAX}=8") as node:
        assert seen(node.bootstrap) == theirs
    assert theirs[0].startswith("one waited")
