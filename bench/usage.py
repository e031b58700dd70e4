"""What processes have cost so far, by the kernel's own account."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_UTIME, _STIME, _RSS = 11, 12, 21  # fields of /proc/PID/stat behind the command's name


@dataclass(frozen=True, slots=True)
class Usage:
    cpu_s: float
    resident_bytes: int


def usage_of(*pids: int) -> Usage:
    """Processor time and resident memory of processes and all of their descendants."""
    cpu_ticks = resident_pages = 0
    todo = [*pids]
    while todo:
        each = todo.pop()
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue  # ended meanwhile
        cpu_ticks += int(fields[_UTIME]) + int(fields[_STIME])
        resident_pages += int(fields[_RSS])
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            todo += map(int, children.read_text().split())
    return Usage(cpu_ticks / _TICKS_PER_SECOND, resident_pages * _PAGE_BYTES)


def machine_busy_s() -> float:
    """Processor time that all of the machine has spent on anything, interrupts included."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split(maxsplit=8)[1:8])
    return (user + nice + system + irq + softirq) / _TICKS_PER_SECOND
