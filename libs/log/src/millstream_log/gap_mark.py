"""The file that says of a log: offsets may be missing between its batches, and that is no loss.

Cleaning leaves such gaps, here or at a leader that this log was fetched from. Recovery has to know: in any other log what is
missing was lost, and what follows it has to go. So the mark is on the disk before the first gap is in the log.
"""

from pathlib import Path

from millstream_log.atomic_file import write_file
from millstream_log.disk import Disk

_NAME = "offset-gaps"


def has_gaps(directory: Path) -> bool:
    return (directory / _NAME).exists()


def allow_gaps(directory: Path, disk: Disk) -> None:
    """Waits for the disk, once in the life of a log."""
    write_file(directory / _NAME, b"", durable=True, disk=disk)
    disk.sync_directory(directory)
