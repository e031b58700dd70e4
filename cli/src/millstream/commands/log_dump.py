"""`millstream log dump`: the files of a partition, or of a whole data directory, as tables or as lines of JSON."""

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from millstream.commands.log_files import LogFile, Row, open_log_file
from millstream.commands.output import Progress, print_json, time_text
from millstream_client.errors import InvalidData
from millstream_log.errors import LogError

EXIT_DAMAGED = 1


class Column(NamedTuple):
    """Fixed widths: a file may be longer than what fits in memory. A width of 0 is the last column's."""

    title: str
    width: int
    field: str


_COLUMNS: dict[str, Sequence[Column]] = {
    "batches": (
        Column("BASE OFFSET", 12, "base_offset"),
        Column("LAST", 12, "last_offset"),
        Column("POSITION", 11, "position"),
        Column("SIZE", 9, "size"),
        Column("RECORDS", 8, "records"),
        Column("MAX TIMESTAMP", 24, "max_timestamp"),
        Column("CODEC", 7, "compression"),
        Column("EPOCH", 6, "leader_epoch"),
        Column("PRODUCER", 9, "producer_id"),
        Column("SEQUENCE", 9, "base_sequence"),
        Column("", 0, "flags"),
    ),
    "records": (
        Column("OFFSET", 12, "offset"),
        Column("TIMESTAMP", 24, "timestamp"),
        Column("KEY", 20, "key"),
        Column("VALUE", 24, "value"),
        Column("HEADERS", 0, "headers"),
    ),
    "offset index": (Column("OFFSET", 12, "offset"), Column("POSITION", 11, "position")),
    "time index": (Column("TIMESTAMP", 24, "timestamp"), Column("OFFSET", 12, "offset")),
    "aborted transactions": (
        Column("PRODUCER", 9, "producer_id"),
        Column("FIRST", 12, "first_offset"),
        Column("LAST", 12, "last_offset"),
        Column("LAST STABLE", 12, "last_stable_offset"),
    ),
    "producers": (
        Column("PRODUCER", 9, "producer_id"),
        Column("EPOCH", 6, "epoch"),
        Column("SEQUENCE", 10, "last_sequence"),
        Column("OFFSET", 12, "last_offset"),
        Column("TIMESTAMP", 24, "timestamp"),
    ),
    "leader epochs": (Column("EPOCH", 6, "epoch"), Column("START OFFSET", 12, "start_offset")),
}
_TIMES = {"timestamp", "max_timestamp"}


def dump(options: Namespace) -> int:
    """Return 1 if something is damaged: the rest is printed all the same."""
    files = list(_files(options.path, deep=options.deep))
    if not files:
        raise InvalidData(f"{options.path}: no log, index or snapshot")
    progress = Progress("bytes", sum(each.path.stat().st_size for each in files)) if not sys.stdout.isatty() else None
    before, is_damaged = 0, False
    for number, file in enumerate(files):
        if not options.json:
            _print_head(file, is_first=number == 0)

        def advance(position: int, before: int = before) -> None:
            if progress is not None:
                progress.update(before + position)

        try:
            for row in file.rows(advance):
                is_damaged |= bool(row.get("error"))
                _print_row(file, row, as_json=options.json)
        except (LogError, ValueError) as error:
            is_damaged = True
            _print_row(file, {"error": str(error)}, as_json=options.json)
        before += file.path.stat().st_size
    if progress is not None:
        progress.end()
    sys.stdout.flush()
    return EXIT_DAMAGED if is_damaged else 0


def _files(path: Path, *, deep: bool) -> Iterator[LogFile]:
    """The file itself, or a directory's files and those of the directories in it."""
    if not path.is_dir():
        path.stat()  # complains of what is not there
        file = open_log_file(path, deep=deep)
        if file is not None:
            yield file
        return
    inside = sorted(path.iterdir())
    for each in inside:
        if each.is_file():
            file = open_log_file(each, deep=deep)
            if file is not None:
                yield file
    for each in inside:
        if each.is_dir():
            yield from _files(each, deep=deep)


def _print_head(file: LogFile, *, is_first: bool) -> None:
    columns = _COLUMNS[file.kind]
    print(f"{'' if is_first else chr(10)}{file.path}: {file.kind}")
    print("  ".join(_aligned(column, column.title) for column in columns).rstrip())


def _print_row(file: LogFile, row: Row, *, as_json: bool) -> None:
    if as_json:
        print_json({"file": str(file.path), "kind": file.kind, **row})
        return
    error = row.get("error")
    if error and file.kind in ("batches", "records") and "base_offset" not in row:
        print(f"damaged at position {row.get('position', 0)}: {error}")
    elif error and "base_offset" not in row:
        print(f"damaged: {error}")
    else:
        columns = _COLUMNS[file.kind] if "base_offset" not in row else _COLUMNS["batches"]
        line = "  ".join(_aligned(column, _text(column.field, row.get(column.field))) for column in columns)
        print(line.rstrip() + (f"  damaged: {error}" if error else ""))


def _aligned(column: Column, text: str) -> str:
    is_text = column.width == 0 or column.field in {*_TIMES, "key", "value", "compression"}
    return text.ljust(column.width) if is_text else text.rjust(column.width)


def _text(field: str, value: Any) -> str:
    if field == "headers":
        return " ".join(f"{name}={content}" for name, content in value or ())
    if isinstance(value, list):
        return " ".join(map(str, value))
    if field in _TIMES:
        return time_text(value)
    return "-" if value is None else str(value)
