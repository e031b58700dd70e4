"""What commands print: tables and progress for people, JSON for programs."""

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

_PROGRESS_EVERY_S = 0.2
_BAR_WIDTH = 24
_PRINTABLE = bytes(byte if 0x20 <= byte < 0x7F else (byte + 1) % 256 for byte in range(256))
"""Leaves just printable ASCII as it is."""
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns as wide as they need to be; numbers to the right. A column's name starts with `>` if it holds numbers."""
    texts = [["-" if cell is None or cell == "" else str(cell) for cell in row] for row in rows]
    names = [column.lstrip(">") for column in columns]
    widths = [max(len(cells[n]) for cells in [names, *texts]) for n in range(len(names))]
    for cells in [names, *texts]:
        padded = [
            cell.rjust(width) if column.startswith(">") else cell.ljust(width)
            for cell, width, column in zip(cells, widths, columns, strict=True)
        ]
        print("  ".join(padded).rstrip())


def print_json(document: Any) -> None:
    """One document, or one line of many."""
    print(json_text(document))


def json_text(document: Any) -> str:
    return _ENCODER.encode(document)


def tell(options: Namespace, text: str, **document: Any) -> None:
    """What was done: a line for people, a document for programs."""
    if options.json:
        print_json(document)
    else:
        print(text)


def time_text(timestamp_ms: int) -> str:
    """In UTC, to the millisecond; `-` for Kafka's no timestamp."""
    if timestamp_ms < 0:
        return "-"
    try:
        return f"{_second_text(timestamp_ms // 1000)}.{timestamp_ms % 1000:03}Z"
    except (ValueError, OverflowError):
        return str(timestamp_ms)


@lru_cache(maxsize=1)  # records that follow each other are mostly of one second
def _second_text(timestamp_s: int) -> str:
    return datetime.fromtimestamp(timestamp_s, UTC).replace(tzinfo=None).isoformat()


def text_of(data: bytes | None) -> str | None:
    """Bytes as text where they are text, in hexadecimal otherwise."""
    if data is None:
        return None
    if data.translate(_PRINTABLE) == data:  # asking each character takes three times as long
        return data.decode()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"0x{data.hex()}"
    return text if text.isprintable() or text.isspace() else text.encode("unicode_escape").decode()


class Progress:
    """A line on the terminal that counts; silent where the standard error is not a terminal."""

    def __init__(self, noun: str, total: int | None = None) -> None:
        self._noun = noun
        self._total = total
        self._shown = sys.stderr.isatty()
        self._started = self._drawn = time.monotonic()
        self._is_drawn = False

    def update(self, count: int) -> None:
        now = time.monotonic()
        if self._shown and now - self._drawn >= _PROGRESS_EVERY_S:
            self._drawn = now
            self._is_drawn = True
            print(f"\r\x1b[K{self._line(count, now - self._started)}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Take the line away."""
        if self._is_drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _line(self, count: int, elapsed_s: float) -> str:
        rate = f"{count / elapsed_s:,.0f}/s" if elapsed_s > 0 else ""
        if not self._total:
            return f"{count:,} {self._noun}  {rate}"
        share = min(1.0, count / self._total)
        filled = round(share * _BAR_WIDTH)
        return f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {share:4.0%}  {count:,} {self._noun}  {rate}"
