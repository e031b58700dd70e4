"""What a broker's disk holds records of: what is missed when it is gone."""

from collections.abc import Mapping
from pathlib import Path

from millstream_broker.core.hosting import ReplicaKey
from millstream_log.partition_metadata import load_topic_id


def held(root: Path) -> Mapping[ReplicaKey, Path]:
    """Directories of partitions that something was appended to: so they were served, and somebody may rely on them."""
    found = {}
    for path in sorted(root.iterdir()):
        number = path.name.rpartition("-")[2]
        if path.is_dir() and number.isdigit() and any(each.stat().st_size for each in path.glob("*.log")):
            topic_id = load_topic_id(path)
            if topic_id is not None:
                found[topic_id, int(number)] = path
    return found
