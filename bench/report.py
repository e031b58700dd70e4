"""From measurements to a table: medians, their spread, and one ratio for each case."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from cases import Done

GIGABYTE = 1e9
_WIDTH = 38


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


OTHERS = "others busy %"
COLUMNS = (
    Column(
        "requests/CPU-s", lambda m: m.done.requests / m.server_cpu_s if m.done.requests and m.server_cpu_s else None
    ),
    Column("CPU-s/GB", lambda m: m.server_cpu_s / m.done.record_bytes * GIGABYTE if m.done.record_bytes else None),
    Column("MB/s", lambda m: m.done.record_bytes / m.done.seconds / 1e6 if m.done.record_bytes else None),
    Column("first ack s", lambda m: m.done.first_ack_s),
    Column("p50 ms", lambda m: m.done.p50_ms),
    Column("p99 ms", lambda m: m.done.p99_ms),
    Column("RSS MB", lambda m: m.resident_bytes / 1e6),
    Column(OTHERS, lambda m: m.others_busy * 100),
)


def table(measurements: Sequence[Measurement], baseline: str) -> str:
    """One block for each case: a row for each figure and, for each server, its median and its ratio to the baseline."""
    lines = []
    for case in dict.fromkeys(m.case for m in measurements):
        measured = {m.server for m in measurements if m.case == case}
        servers = sorted(measured, key=lambda name: (name == baseline, name))
        lines += ["", case, f"  {'':16}" + "".join(f"{server:>{_WIDTH}}" for server in servers)]
        for column in COLUMNS:
            values = {server: _values(measurements, case, server, column) for server in servers}
            if all(values.values()):
                compared = values[baseline] if column.title != OTHERS else None
                cells = (_cell(values[server], compared if server != baseline else None) for server in servers)
                lines.append(f"  {column.title:16}" + "".join(f"{cell:>{_WIDTH}}" for cell in cells))
    return "\n".join(lines)


def _cell(values: list[float], baseline: list[float] | None) -> str:
    middle = median(values)
    ratio = f" {middle / median(baseline):6.2f}x" if baseline and median(baseline) else ""
    return f"{_number(middle)} ({_number(min(values))}..{_number(max(values))}){ratio}"


def _values(measurements: Sequence[Measurement], case: str, server: str, column: Column) -> list[float]:
    mine = (column.value(m) for m in measurements if (m.case, m.server) == (case, server))
    return [value for value in mine if value is not None]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
