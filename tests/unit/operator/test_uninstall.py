"""Whom an uninstall waits for."""

from datetime import UTC, datetime, timedelta
from typing import Any

from millstream_operator.uninstall import is_lost

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def pod(ended_s_ago: float | None) -> dict[str, Any]:
    if ended_s_ago is None:
        return {"metadata": {"name": "demo-broker-0"}}
    until = NOW - timedelta(seconds=ended_s_ago)
    return {"metadata": {"name": "demo-broker-0", "deletionTimestamp": until.strftime("%Y-%m-%dT%H:%M:%SZ")}}


def test_a_pod_that_outlives_its_time_is_on_a_node_that_is_gone() -> None:
    assert is_lost(pod(ended_s_ago=60), NOW)
    assert not is_lost(pod(ended_s_ago=3), NOW)
    assert not is_lost(pod(ended_s_ago=-60), NOW), "its time to leave is not over"
    assert not is_lost(pod(None), NOW), "nobody has asked it to leave yet"
