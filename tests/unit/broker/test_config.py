"""Properties become a config, or one clear line."""

from pathlib import Path

import pytest

from millstream_broker.config import BrokerConfig
from millstream_cluster.records import Endpoint
from millstream_runtime.properties import Properties, PropertyError

NEEDED = {"log.dirs": "/data", "controller.bootstrap.servers": "c0:9093,c1:9093"}


def config(**values: str) -> BrokerConfig:
    return BrokerConfig.from_properties(Properties({**NEEDED, **{k.replace("_", "."): v for k, v in values.items()}}))


def test_the_least_that_is_needed() -> None:
    known = config()
    assert (known.node_id, known.data_dir, known.controllers) == (0, Path("/data"), (("c0", 9093), ("c1", 9093)))
    assert known.listeners == (Endpoint("PLAINTEXT", "127.0.0.1", 9092),)


def test_listeners_and_what_clients_are_told() -> None:
    known = config(listeners="PLAINTEXT://0.0.0.0:9092", advertised_listeners="PLAINTEXT://broker-0.example:19092")
    assert known.advertised_listeners == (Endpoint("PLAINTEXT", "broker-0.example", 19092),)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"node_id": "10000"}, "node.id"),
        ({"log_dirs": "/a,/b"}, "one directory"),
        ({"listeners": "127.0.0.1:9092"}, "NAME://host:port"),
        ({"listeners": "PLAINTEXT://0.0.0.0:9092"}, "advertised.listeners must say"),
        ({"listeners": "A://h:1,A://h:2"}, "twice"),
        ({"log_retention_ms": "soon"}, "log.retention.ms"),
        ({"message_max_bytes": "-5"}, "message.max.bytes"),
    ],
)
def test_what_is_refused(values: dict[str, str], message: str) -> None:
    with pytest.raises(PropertyError, match=message):
        config(**values)
