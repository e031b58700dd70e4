"""Print every record of the lake at PATH, read with pyarrow by the sink's own log: files a killed job left behind do not count."""

import json
import sys
from pathlib import Path

import pyarrow.parquet


def main() -> None:
    lake = Path(sys.argv[1])
    files = set()
    for log in (lake / "_spark_metadata").iterdir():
        if log.name.startswith("."):
            continue
        for line in log.read_text().splitlines()[1:]:
            entry = json.loads(line)
            if entry.get("action", "add") == "add":
                files.add(entry["path"].removeprefix("file://"))
    for file in sorted(files):
        table = pyarrow.parquet.ParquetFile(file).read(columns=["partition", "offset", "key", "value"])
        for row in table.to_pylist():
            print(json.dumps([row["partition"], row["offset"], row["key"].decode(), row["value"].decode()]))


main()
