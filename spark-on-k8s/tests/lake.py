"""Reads a lake without Spark, as the tests' outside oracle: the sink's log says which files count."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow.parquet


def committed_files(lake: Path) -> list[Path]:
    """Return the files of every committed batch: each entry of the log is a batch, or a compaction of all before it."""
    log = lake / "_spark_metadata"
    if not log.is_dir():
        return []
    entries = [path for path in log.iterdir() if not path.name.startswith(".")]
    compacted = [int(path.name.split(".")[0]) for path in entries if path.name.endswith(".compact")]
    first = max(compacted, default=0)
    files: dict[Path, None] = {}
    for entry in sorted(entries, key=lambda path: int(path.name.split(".")[0])):
        if int(entry.name.split(".")[0]) < first or (entry.name == str(first) and compacted):
            continue
        for line in entry.read_text().splitlines()[1:]:
            files[Path(unquote(urlparse(json.loads(line)["path"]).path))] = None
    return list(files)


def read_lake(lake: Path) -> list[dict[str, Any]]:
    """Return every record, ordered by partition and offset; one stored twice is there twice."""
    rows = [row for file in committed_files(lake) for row in pyarrow.parquet.ParquetFile(file).read().to_pylist()]
    return sorted(rows, key=lambda row: (row["partition"], row["offset"]))


def orphan_files(lake: Path) -> set[Path]:
    return {path for path in lake.rglob("*.parquet") if "_temporary" not in path.parts} - set(committed_files(lake))
