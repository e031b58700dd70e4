"""What a process has used, by the kernel's own account."""

import os
from pathlib import Path

_PEAK_RESET = "5"


class ProcessAccount:
    """Of one process, children apart."""

    def __init__(self, pid: int) -> None:
        self._proc = Path(f"/proc/{pid}")

    @property
    def resident_bytes(self) -> int:
        return self._status("VmRSS")

    @property
    def peak_resident_bytes(self) -> int:
        """The most since the process began or `forget_peak` was called."""
        return self._status("VmHWM")

    def forget_peak(self) -> None:
        (self._proc / "clear_refs").write_text(_PEAK_RESET)

    @property
    def disk_read_bytes(self) -> int:
        """Read from the disk, and not from memory, on behalf of the process."""
        return self._field("io", "read_bytes")

    @property
    def first_thread_waits_for_disk(self) -> bool:
        """Whether the kernel holds the thread that serves connections in an uninterruptible wait right now."""
        return self._stat_of(self._proc / "task" / self._proc.name)[0] == "D"

    @property
    def major_faults(self) -> int:
        """How often it touched memory that had to come from the disk."""
        return int(self._stat_of(self._proc)[9])

    @property
    def cpu_s(self) -> float:
        fields = self._stat_of(self._proc)
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def open_files(self) -> int:
        return len(os.listdir(self._proc / "fd"))

    def _status(self, name: str) -> int:
        return self._field("status", name) * 1024

    def _field(self, file: str, name: str) -> int:
        for line in (self._proc / file).read_text().splitlines():
            key, _, value = line.partition(":")
            if key == name:
                return int(value.split()[0])
        raise AssertionError(f"no {name} in {self._proc / file}")

    @staticmethod
    def _stat_of(task: Path) -> list[str]:
        """The fields behind the command's name."""
        return (task / "stat").read_text().rpartition(")")[2].split()
