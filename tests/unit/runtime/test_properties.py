"""Properties: files, settings, types, and keys that nobody knows."""

from pathlib import Path

import pytest

from millstream_cluster.configs import BROKER_CONFIGS
from millstream_runtime.kafka_properties import PASSED_OVER
from millstream_runtime.properties import Properties, PropertyError, parse_address


def test_settings_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "node.properties"
    file.write_text("# a comment\n! another\nnum.partitions = 3\nlog.dirs=/a\\\n/b\nurl: http://x=1\n\n")
    properties = Properties.read(file, ["num.partitions=4", "empty="])
    assert properties.as_dict() == {"num.partitions": "4", "log.dirs": "/a/b", "url": "http://x=1", "empty": ""}
    assert properties.integer("num.partitions") == 4


@pytest.mark.parametrize("setting", ["nonsense", "=4"])
def test_a_setting_without_a_key_or_a_value_is_refused(setting: str) -> None:
    with pytest.raises(PropertyError, match="key=value"):
        Properties.read(None, [setting])


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PropertyError, match="cannot read"):
        Properties.read(tmp_path / "none", [])


def test_values_are_checked() -> None:
    properties = Properties({"a": "many", "b": "5", "c": "yes", "d": "x:1, [::1]:2,PLAINTEXT://h:3"})
    with pytest.raises(PropertyError, match="a must be a whole number"):
        properties.integer("a")
    with pytest.raises(PropertyError, match="b must be at least 6"):
        properties.integer("b", least=6)
    with pytest.raises(PropertyError, match="b must be at most 4"):
        properties.integer("b", most=4)
    with pytest.raises(PropertyError, match="c must be true or false"):
        properties.boolean("c")
    with pytest.raises(PropertyError, match="e must be set"):
        properties.text("e")
    assert properties.addresses("d") == (("x", 1), ("::1", 2), ("h", 3))
    assert properties.boolean("f", True)


@pytest.mark.parametrize("text", ["host", "host:", "host:x", "host:65536"])
def test_an_address_has_a_port(text: str) -> None:
    with pytest.raises(PropertyError, match="host:port"):
        parse_address("listeners", text)


def test_an_unknown_key_names_its_nearest_neighbour() -> None:
    properties = Properties({"num.partitons": "4"})
    properties.integer("num.partitions", 1)
    with pytest.raises(PropertyError, match=r"unknown property num\.partitons \(did you mean num\.partitions\?\)"):
        properties.refuse_unknown()
    Properties({"log.retention.ms": "1"}).refuse_unknown(["log.retention.ms"])


def test_what_only_tunes_kafka_is_passed_over_and_named(caplog: pytest.LogCaptureFixture) -> None:
    Properties({"num.io.threads": "8", "background.threads": "10"}).refuse_unknown()
    assert "without effect here names=background.threads,num.io.threads" in caplog.text


def test_a_quorum_is_told_what_is_here_instead() -> None:
    with pytest.raises(PropertyError, match=r"controller\.quorum\.voters: there is no quorum"):
        Properties({"controller.quorum.voters": "1@localhost:9093", "num.io.threads": "8"}).refuse_unknown()


@pytest.mark.parametrize("key", ["create.topic.policy.class.name", "remote.log.storage.system.enable"])
def test_what_would_make_another_system_of_it_is_refused(key: str) -> None:
    with pytest.raises(PropertyError, match="unknown property"):
        Properties({key: "true"}).refuse_unknown()


def test_nothing_that_is_read_here_is_passed_over() -> None:
    assert PASSED_OVER.isdisjoint(BROKER_CONFIGS)
