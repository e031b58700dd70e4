from collections.abc import Mapping

import pytest

from millstream_cluster.configs import ConfigError, check_group, validate
from millstream_cluster.configs.offset_reset import EARLIEST, LATEST, offset_reset_timestamp
from millstream_cluster.records import ResourceType

NOW_MS = 10**12
DAY_MS = 24 * 60 * 60 * 1_000


@pytest.mark.parametrize(
    ("text", "timestamp"),
    [
        ("latest", LATEST),
        ("earliest", EARLIEST),
        ("by_duration:P1D", NOW_MS - DAY_MS),
        ("by_duration:PT2H3M4.5S", NOW_MS - 2 * 3_600_000 - 3 * 60_000 - 4_500),
        ("by_duration:P1DT1S", NOW_MS - DAY_MS - 1_000),
        ("by_duration:PT0.0015S", NOW_MS - 1),
        ("by_duration:P99999D", 0),
    ],
)
def test_strategies_are_timestamps_to_look_up(text: str, timestamp: int) -> None:
    assert offset_reset_timestamp(text, NOW_MS) == timestamp
    assert validate(ResourceType.GROUP, "share.auto.offset.reset", text) == text


@pytest.mark.parametrize(
    "text", ["", "none", "by_duration", "by_duration:", "by_duration:P", "by_duration:P1DT", "by_duration:-P1D", "P1D"]
)
def test_anything_else_is_refused(text: str) -> None:
    assert offset_reset_timestamp(text, NOW_MS) is None
    with pytest.raises(ConfigError, match=r"share\.auto\.offset\.reset"):
        validate(ResourceType.GROUP, "share.auto.offset.reset", text)


@pytest.mark.parametrize(
    ("own", "static"),
    [
        ({"share.record.lock.duration.ms": "14999"}, {}),
        ({"share.record.lock.duration.ms": "60001"}, {}),
        ({"share.session.timeout.ms": "45000"}, {"group.share.max.session.timeout.ms": "40000"}),
        ({"share.delivery.count.limit": "11"}, {}),
        ({"share.partition.max.record.locks": "99"}, {}),
        ({"share.heartbeat.interval.ms": "15000"}, {"group.share.session.timeout.ms": "15000"}),
    ],
)
def test_a_share_group_keeps_to_the_brokers_bounds(own: Mapping[str, str], static: Mapping[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(own))):
        check_group(own, static)


def test_what_is_within_the_bounds_is_taken() -> None:
    check_group({"share.record.lock.duration.ms": "15000", "share.delivery.count.limit": "10"}, {})
    check_group({"share.record.lock.duration.ms": "1000"}, {"group.share.min.record.lock.duration.ms": "1000"})
