"""What the archive's command line takes and what it refuses."""

import pytest

from millstream_spark.archive.config import parse_archive
from millstream_spark.errors import BadConfig
from millstream_spark.trigger import AvailableNow, Interval

REQUIRED = [
    "--bootstrap-servers=b:9092",
    "--topic=orders",
    "--output=/lake/orders",
    "--checkpoint=/lake/.checkpoints/orders",
]


def test_a_bounded_run_from_the_beginning_is_the_default() -> None:
    config = parse_archive(REQUIRED)
    assert config.trigger == AvailableNow()
    assert config.starting_offsets == "earliest"
    assert config.partition_by == ("date",)
    assert config.group_id == "archive-orders"
    assert config.max_offsets_per_trigger == 1_000_000, "a first run over a large topic is bounded"
    assert config.kafka == {}


@pytest.mark.parametrize(("text", "interval_ms"), [("500ms", 500), ("10s", 10_000), ("5m", 300_000)])
def test_an_interval_names_its_unit(text: str, interval_ms: int) -> None:
    assert parse_archive([*REQUIRED, f"--trigger={text}"]).trigger == Interval(interval_ms)


def test_a_lake_may_be_divided_by_several_columns_or_none() -> None:
    assert parse_archive([*REQUIRED, "--partition-by=date,hour,partition"]).partition_by == (
        "date",
        "hour",
        "partition",
    )
    assert parse_archive([*REQUIRED, "--partition-by=none"]).partition_by == ()


@pytest.mark.parametrize(
    "word",
    [
        "--topic=a/b",
        "--trigger=10",
        "--trigger=0s",
        "--starting-offsets=first",
        "--starting-offsets=[1]",
        '--starting-offsets={"orders":3}',
        '--starting-offsets={"orders":{"0":"3"}}',
        '--starting-offsets={"others":{"0":3}}',
        "--partition-by=key",
        "--partition-by=date,date",
        "--max-offsets-per-trigger=0",
        "--kafka=fetch.max.bytes",
        "--unknown=1",
        "--out=/lake",
    ],
)
def test_what_makes_no_sense_is_named(word: str) -> None:
    name = word.split("=")[0]
    with pytest.raises(BadConfig, match=f"{name}") as refused:
        parse_archive([*REQUIRED, word])
    assert (refused.value.exit_status, len(str(refused.value).splitlines())) == (2, 1)


def test_settings_of_the_consumer_are_collected() -> None:
    config = parse_archive([*REQUIRED, "--kafka=fetch.max.bytes=1000", "--kafka", "client.rack=a=b"])
    assert config.kafka == {"fetch.max.bytes": "1000", "client.rack": "a=b"}
