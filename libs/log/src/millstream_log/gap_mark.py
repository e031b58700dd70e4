"""The file that says of a log: offsets may be missing between its batches, and that is no loss.

Cleaning leaves such gaps, here or at a leader that this log was fetched from. Recovery has to know: in any other log what is
missing was lost, and what follows it has to go. So the mark is on the disk before the first gap is in the log.

It also says which segments may end before the next one begins, or be empty: those that begin before an offset, for cleaning has
been there. Elsewhere that is what a power loss left of a segment. A log that loses its end, in a cut or otherwise, goes on with segments
that nobody has cleaned, so the offset is never beyond its newest segment's first.
"""

from pathlib import Path

from millstream_log.atomic_file import read_file, replace_file
from millstream_log.disk import Disk

ANYWHERE = (1 << 63) - 1
_NAME = "offset-gaps"


def has_gaps(directory: Path) -> bool:
    return (directory / _NAME).exists()


def short_before(directory: Path, disk: Disk) -> int:
    """Segments that rightly end before the next one begin before this offset. A mark that does not say, of an earlier version, allows any."""
    try:
        found = read_file(directory / _NAME, disk)
    except FileNotFoundError:
        return 0
    return int(found) if found.isdigit() else ANYWHERE


def forget_short_segments(directory: Path, from_offset: int, disk: Disk) -> None:
    """Waits for the disk, unless the mark says nothing of segments from there on. For who has cut them off, or begins to append there."""
    if short_before(directory, disk) > from_offset:
        allow_gaps(directory, from_offset, disk)


def allow_gaps(directory: Path, before: int, disk: Disk) -> None:
    """Waits for the disk; `before` is what `short_before` returns from now on."""
    replace_file(directory / _NAME, b"%d" % before, durable=True, disk=disk)
