"""What the last reset of each group replaced, so that it can be taken back: a file for each in the user's state directory."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from millstream_client.assignment import TopicPartition
from millstream_client.errors import InvalidData

Offsets = Mapping[TopicPartition, int | None]


def remember_reset(cluster_id: str, group: str, before: Offsets, after: Offsets) -> None:
    path = _path(cluster_id, group)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({"group": group, "before": _rows(before), "after": _rows(after)}))
    fresh.replace(path)


def remembered_reset(cluster_id: str, group: str) -> tuple[dict[TopicPartition, int | None], dict[TopicPartition, int]]:
    """The offsets before it and after it. Raises InvalidData if there was none."""
    try:
        stored = json.loads(_path(cluster_id, group).read_text())
    except FileNotFoundError:
        raise InvalidData(f"nothing is known here of a reset of group {group}") from None
    before = {TopicPartition(topic, partition): offset for topic, partition, offset in stored["before"]}
    after = {TopicPartition(topic, partition): offset for topic, partition, offset in stored["after"]}
    return before, after


def forget_reset(cluster_id: str, group: str) -> None:
    _path(cluster_id, group).unlink(missing_ok=True)


def _path(cluster_id: str, group: str) -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "millstream" / "resets" / f"{quote(cluster_id, safe='')}-{quote(group, safe='')}.json"


def _rows(offsets: Offsets) -> list[tuple[str, int, int | None]]:
    return [(each.topic, each.partition, offset) for each, offset in sorted(offsets.items())]
