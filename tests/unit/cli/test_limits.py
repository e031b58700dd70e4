"""What a peer may use up, as the properties say, in every kind of service."""

from collections.abc import Callable
from typing import Any

import pytest

from millstream_broker.config import BrokerConfig
from millstream_cluster.quotas.windows import Windows
from millstream_controller.config import ControllerConfig
from millstream_coordinator.config import CoordinatorConfig
from millstream_runtime.network.links import Limits
from millstream_runtime.properties import Properties, PropertyError

NEEDED = {
    "controller.bootstrap.servers": "127.0.0.1:9093",
    "controller.store": "file:/tmp/store",
    "log.dirs": "/tmp/logs",
}
SERVICES = [BrokerConfig.from_properties, ControllerConfig.from_properties, CoordinatorConfig.from_properties]


@pytest.mark.parametrize("read", SERVICES)
def test_they_reach_each_service(read: Callable[[Properties], Any]) -> None:
    told = {"max.connections": "7", "socket.request.max.bytes": "1000", "connections.max.idle.ms": "50"}
    limits = read(Properties(NEEDED | told)).limits
    assert (limits.connections_max, limits.frame_max_bytes, limits.connections_max_idle_ms) == (7, 1000, 50)
    assert (limits.connections_per_ip_max, read(Properties(NEEDED)).limits.connections_max) == (2**31 - 1, 2**31 - 1)
    assert read(Properties(NEEDED | {"max.connections.per.ip": "3"})).limits.connections_per_ip_max == 3
    told = {"queued.max.requests": "3", "socket.listen.backlog.size": "4"}
    told |= {"socket.send.buffer.bytes": "20000", "socket.receive.buffer.bytes": "30000"}
    limits = read(Properties(NEEDED | told)).limits
    assert (limits.pending_requests_max, limits.backlog) == (3, 4)
    assert (limits.send_buffer_bytes, limits.receive_buffer_bytes) == (20_000, 30_000)
    assert read(Properties(NEEDED)).limits == Limits()
    with pytest.raises(PropertyError, match=r"max\.connections.* must be at least 0"):
        read(Properties(NEEDED | {"max.connections": "-1"}))


@pytest.mark.parametrize("read", SERVICES)
def test_a_listener_and_an_address_have_limits_of_their_own(read: Callable[[Properties], Any]) -> None:
    told = {"max.connections": "7", "max.connection.creation.rate": "5", "quota.window.num": "3"}
    told |= {"max.connections.per.ip": "2", "max.connections.per.ip.overrides": "10.0.0.1:9,[::1]:4"}
    told |= {"listeners": "INSIDE://127.0.0.1:1", "listener.security.protocol.map": "INSIDE:PLAINTEXT"}
    own = {"listener.name.inside.max.connections": "3", "listener.name.inside.max.connection.creation.rate": "1"}
    limits = read(Properties(NEEDED | told | own)).limits
    assert (limits.connections_max_of("INSIDE"), limits.creation_rate_of("INSIDE")) == (3, 1)
    assert (limits.connections_max_of("OTHER"), limits.creation_rate_of("OTHER")) == (7, 5)
    assert limits.connections_per_ip_overrides == {"10.0.0.1": 9, "::1": 4}
    assert limits.quota_windows == Windows(samples=3)
    with pytest.raises(PropertyError, match=r"must be address:number"):
        read(Properties(NEEDED | {"max.connections.per.ip.overrides": "somewhere:4"}))
