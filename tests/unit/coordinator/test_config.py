"""A coordinator's properties: what they become, and the one clear line for those that cannot be."""

from typing import Any

import pytest

from millstream_coordinator.config import CoordinatorConfig
from millstream_runtime.properties import Properties, PropertyError

NEEDED = {"controller.bootstrap.servers": "127.0.0.1:9093"}


def config(**properties: str) -> CoordinatorConfig:
    given = {key.replace("_", "."): value for key, value in properties.items()}
    return CoordinatorConfig.from_properties(Properties(NEEDED | given))


def test_defaults_are_kafkas() -> None:
    read = config()
    assert read.node_id == 10_000
    assert read.controllers == (("127.0.0.1", 9093),)
    assert read.groups.initial_rebalance_delay_ms == 3_000
    assert (read.groups.session_timeout_min_ms, read.groups.session_timeout_max_ms) == (6_000, 1_800_000)
    assert read.offsets_retention_ms == 7 * 86_400_000


def test_properties_are_taken_over() -> None:
    read = config(
        node_id="7",
        listeners="A://0.0.0.0:0",
        listener_security_protocol_map="A:PLAINTEXT",
        advertised_listeners="A://there:1",
        offsets_retention_minutes="2",
    )
    assert read.node_id == 10_007
    assert (read.advertised_listeners[0].host, read.advertised_listeners[0].port) == ("there", 1)
    assert read.offsets_retention_ms == 120_000


@pytest.mark.parametrize(
    ("properties", "line"),
    [
        ({"node_id": "10000"}, "node.id must be at most 9999"),
        ({"listeners": "127.0.0.1:1"}, "listeners must be NAME://host:port"),
        ({"listeners": "A://0.0.0.0:1"}, "advertised.listeners must say how clients reach the listener A"),
        ({"listeners": "A://h:1,A://h:2"}, "listeners names a listener twice"),
        ({"group_max_size": "0"}, "group.max.size must be at least 1"),
        ({"group_min_session_timeout_ms": "1800001"}, "group.min.session.timeout.ms must not be more than"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(properties: dict[str, Any], line: str) -> None:
    with pytest.raises(PropertyError, match=line):
        config(**properties)
