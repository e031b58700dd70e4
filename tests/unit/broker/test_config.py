"""Properties become a config, or one clear line."""

from pathlib import Path

import pytest

from millstream_broker.config import READ_AGAIN, BrokerConfig
from millstream_cluster.configs import BROKER_CONFIGS
from millstream_cluster.configs.key import ConfigType, UpdateMode
from millstream_cluster.image import Image
from millstream_cluster.records import ConfigChanged, Endpoint, ResourceType
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
        ({"log_dirs": "/a, /b,/a"}, "names a directory twice"),
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


def test_what_is_set_dynamically_is_over_what_was_set_at_the_start() -> None:
    known = config(log_cleaner_backoff_ms="7", max_connections="9", log_dirs="/data")
    records = [
        ConfigChanged(ResourceType.BROKER, "", "max.connections", "5"),
        ConfigChanged(ResourceType.BROKER, "0", "max.connections", "4"),
        ConfigChanged(ResourceType.BROKER, "1", "max.connections.per.ip", "3"),
        ConfigChanged(ResourceType.BROKER, "", "transaction.partition.verification.enable", "false"),
        ConfigChanged(ResourceType.BROKER, "", "no.such.key", "x"),
    ]
    now = known.as_set(Image.of(records, 5))
    assert (now.limits.connections_max, now.limits.connections_per_ip_max) == (4, 2**31 - 1)
    assert (now.cleaner.backoff_ms, now.verifies_transactions) == (7, False)
    assert now.properties == known.properties
    assert known.as_set(Image()) is known


def test_what_is_read_again_is_what_may_be_set_and_no_topics_default() -> None:
    may_be_set = {key.name for key in BROKER_CONFIGS.values() if key.update_mode is not UpdateMode.READ_ONLY}
    assert may_be_set >= READ_AGAIN
    for name in READ_AGAIN:
        key = BROKER_CONFIGS[name]
        known = config(**{name.replace(".", "_"): str(key.default)})
        changed = "false" if key.default == "true" else "10.0.0.1:5" if key.type is ConfigType.STRING else "2097152"
        again = known.as_set(Image.of([ConfigChanged(ResourceType.BROKER, "", name, changed)], 1))
        assert again != known, name


def test_several_directories_are_one_list_between_commas() -> None:
    known = config(log_dirs="/a, /b", cordoned_log_dirs="/b")
    assert known.data_dirs == (Path("/a"), Path("/b"))
    assert known.cordoned_log_dirs == ("/b",)
