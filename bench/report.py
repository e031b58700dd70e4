"""From measurements to a table: medians, their spread, and one ratio for each case."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from cases import Done

GIGABYTE = 1e9


@dataclass(frozen=True, slots=True)
class Measurement:
    case: str
    server: str
    done: Done
    server_cpu_s: float
    resident_bytes: int
    others_busy: float
    """The share of the machine's processors that neither server nor client used."""


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    value: Callable[[Measurement], float | None]


COLUMNS = (
    Column("requests/CPU-s", lambda m: m.done.requests / m.server_cpu_s if m.done.requests else None),
    Column("CPU-s/GB", lambda m: m.server_cpu_s / m.done.record_bytes * GIGABYTE),
    Column("MB/s", lambda m: m.done.record_bytes / m.done.seconds / 1e6),
    Column("p50 ms", lambda m: m.done.p50_ms),
    Column("p99 ms", lambda m: m.done.p99_ms),
    Column("RSS MB", lambda m: m.resident_bytes / 1e6),
    Column("others busy %", lambda m: m.others_busy * 100),
)


def table(measurements: Sequence[Measurement], ours: str, theirs: str) -> str:
    lines = []
    for case in dict.fromkeys(m.case for m in measurements):
        lines += ["", case, f"  {'':16}{ours:>30}{theirs:>30}{'ratio':>9}"]
        for column in COLUMNS:
            sides = [_values(measurements, case, server, column) for server in (ours, theirs)]
            if not all(sides):
                continue
            ratio = median(sides[0]) / median(sides[1]) if median(sides[1]) else float("nan")
            cells = "".join(f"{_cell(values):>30}" for values in sides)
            lines.append(f"  {column.title:16}{cells}{'' if column.title.startswith('others') else f'{ratio:8.2f}x'}")
    return "\n".join(lines)


def _values(measurements: Sequence[Measurement], case: str, server: str, column: Column) -> list[float]:
    mine = (column.value(m) for m in measurements if (m.case, m.server) == (case, server))
    return [value for value in mine if value is not None]


def _cell(values: list[float]) -> str:
    return f"{_number(median(values))} ({_number(min(values))}..{_number(max(values))})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
