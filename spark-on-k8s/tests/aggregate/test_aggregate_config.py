"""What the aggregate's configuration file takes and what it refuses."""

from pathlib import Path

import pytest

from millstream_spark.aggregate.config import read_config
from millstream_spark.errors import BadConfig

GOOD = """
name = "totals"
bootstrap_servers = "b:9092"
checkpoint = "/lake/.checkpoints/totals"

[source]
topic = "orders"
schema = "customer STRING, amount BIGINT"

[window]
time = "timestamp"
length = "1 hour"
watermark = "10 minutes"
keys = ["customer"]

[result]
topic = "totals"

[dead_letters]
topic = "orders-dead"
"""


def write(directory: Path, text: str) -> str:
    path = directory / "totals.toml"
    path.write_text(text)
    return str(path)


def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, GOOD))
    assert (config.result.emit, config.result.slots, config.source.starting_offsets) == ("final", 1, "earliest")
    assert config.window.keys == ("customer",)
    assert config.window.sums == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('topic = "orders"\n', 'topik = "orders"\n'), "source.topik is not known"),
        (('topic = "orders"\n', ""), "source.topic is missing"),
        (('topic = "orders"\n', "topic = 3\n"), "source.topic is 3"),
        (('topic = "orders"\n', 'topic = "orders"\nskip_deleted = 1\n'), "source.skip_deleted is 1, not true or false"),
        (('topic = "orders"\n', 'topic = "orders"\nmax_offsets_per_trigger = true\n'), "is True, not a number"),
        (('keys = ["customer"]', 'keys = "customer"'), "window.keys is not a list"),
        (('topic = "totals"', 'topic = "totals"\nemit = "all"'), "result.emit is 'all'"),
        (('topic = "totals"', 'topic = "orders"'), "three topics"),
        (('name = "totals"', 'name = "totals"\ntrigger = "10"'), "trigger: '10'"),
        (("[window]", "[window"), "line"),
        (('name = "totals"', 'name = "hourly.totals"'), "name: 'hourly.totals'"),
        (('topic = "totals"', 'topic = "to/tals"'), "result.topic: 'to/tals'"),
        (('topic = "orders"\n', 'topic = "orders"\nstarting_offsets = "first"\n'), "source.starting_offsets: 'first'"),
        (("[window]", "[source.kafka]\nfetch.max.bytes = 1\n[window]"), "source.kafka.fetch is neither"),
    ],
)
def test_what_makes_no_sense_is_named_with_its_file(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    path = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(BadConfig, match=words) as refused:
        read_config(path)
    assert str(refused.value).startswith(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"none\.toml: No such file"):
        read_config(str(tmp_path / "none.toml"))
