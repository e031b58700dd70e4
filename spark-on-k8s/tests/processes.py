"""The processes below one, and the time of the processors that they took."""

import os
from collections.abc import Callable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def descendants(root: int) -> dict[int, str]:
    """Return the processes below one, with their command lines."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            children.setdefault(int(stat[stat.rindex(")") + 2 :].split()[1]), []).append(int(entry.name))
    found: dict[int, str] = {}
    todo = list(children.get(root, []))
    while todo:
        pid = todo.pop()
        try:
            found[pid] = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        todo += children.get(pid, [])
    return found


def rows_per_cpu_second(what: str, rows: int, work: Callable[[], object], *roots: int) -> float:
    """Do the work, and return the rows for each second that the processes took for it."""
    before = cpu_seconds(*roots)
    work()
    seconds = cpu_seconds(*roots) - before
    print(f"{what}: {rows} rows, {seconds:.2f} CPU-s, {rows / seconds:.0f} rows per CPU-s", flush=True)
    return rows / seconds


def cpu_seconds(*roots: int) -> float:
    """Return what the processes and all below them took until now, those that ended since included."""
    ticks = 0
    for pid in {each for root in roots for each in (root, *descendants(root))}:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        # Own time in user and kernel mode, and that of children that were waited for.
        ticks += sum(map(int, stat[stat.rindex(")") + 2 :].split()[11:15]))
    return ticks / TICKS
