"""Putting a cleaned segment in the place of those it was made of, by renaming; a crash at any point leaves one or the other.

Written as `.cleaned`, ready as `.swap`, then the old files step aside as `.deleted`, and `.swap` becomes the segment. Whoever
finds `.swap` files at a start goes on from there, as Apache Kafka does with ours and we with its.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from millstream_log.disk import Disk, unlink_if_there
from millstream_log.errors import StorageError
from millstream_log.scan import scan_headers

logger = logging.getLogger(__name__)

CLEANED = ".cleaned"
SWAP = ".swap"
DELETED = ".deleted"

# The file of batches last: a `.log.swap` says that everything else is ready.
_KINDS = ("index", "timeindex", "txnindex", "log")
_BASE_MAX = (1 << 63) - (1 << 31)  # a segment holds that many offsets at most


def exchange(directory: Path, base_offset: int, gone: Sequence[int], disk: Disk) -> None:
    """Let the cleaned segment `base_offset` take the place of the segments `gone`, whose files stay as `.deleted`.

    After an error everything is as before, or the error is an `Irreversible`.
    """
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in _renames(directory, base_offset, gone):
            if source.exists() or ".log" in source.suffixes:  # a full disk may have kept an index from being written
                disk.rename(source, target)
                done.append((source, target))
    except OSError as error:
        try:
            for source, target in reversed(done):
                disk.rename(target, source)
        except OSError as second:
            raise Irreversible(f"{directory}: {second}") from error
        raise


class Irreversible(StorageError):
    """Half of a swap could not be undone: the next start completes it, and until then nothing may be written."""


def _renames(directory: Path, base_offset: int, gone: Sequence[int]) -> Iterator[tuple[Path, Path]]:
    ready = [_file(directory, base_offset, kind) for kind in _KINDS]
    for file in ready:
        yield _with(file, CLEANED), _with(file, SWAP)
    for offset in gone:
        for kind in _KINDS:
            old = _file(directory, offset, kind)
            yield old, _with(old, DELETED)
    for file in ready:
        yield _with(file, SWAP), file


def base_of(directory: Path, name: str) -> int:
    """The offset that a segment's file is named after; nobody knows whose records are in one that only looks like that."""
    digits, dot = name[:20], name[20:21]
    if not (dot == "." and digits.isascii() and digits.isdecimal()) or int(digits) > _BASE_MAX:
        raise StorageError(f"{directory / name}: not the name of a segment")
    return int(digits)


def discard_cleaned(directory: Path, base_offset: int, disk: Disk) -> None:
    """Remove what a cleaning has written in vain."""
    for kind in _KINDS:
        unlink_if_there(disk, _with(_file(directory, base_offset, kind), CLEANED))


def settle_exchange(directory: Path, gone: Sequence[int], disk: Disk) -> list[Path]:
    """Bring an exchange to the disk, which waits for it, so not on the event loop; return the old files, which may go now."""
    disk.sync_directory(directory)
    old = [_with(_file(directory, offset, kind), DELETED) for offset in gone for kind in _KINDS]
    return [path for path in old if path.exists()]


def complete_swaps(directory: Path, disk: Disk) -> None:
    """Finish or undo what a crash interrupted; afterwards there are no `.cleaned` and no `.swap` files."""
    names = os.listdir(directory)
    cleaned = [name for name in names if name.endswith(CLEANED)]
    swaps = [name for name in names if name.endswith(SWAP)]
    bases = {name: base_of(directory, name) for name in (*cleaned, *swaps)}
    first_cleaned = min((bases[name] for name in cleaned), default=1 << 63)
    for name in [*cleaned, *(name for name in swaps if bases[name] >= first_cleaned)]:
        disk.unlink(directory / name)
    swaps = sorted(name for name in swaps if bases[name] < first_cleaned)
    for name in swaps:
        if name.endswith(".log" + SWAP):
            _remove_swapped(directory, bases[name], disk)
    for name in sorted(swaps, key=lambda name: name.endswith(".log" + SWAP)):
        disk.rename(directory / name, directory / name.removesuffix(SWAP))
    if swaps:
        disk.sync_directory(directory)


def _remove_swapped(directory: Path, base_offset: int, disk: Disk) -> None:
    """Remove the segments that a `.swap` stands for: those that begin inside it.

    Segments of which cleaning left nothing at the end of it may remain: what is in them is still true.
    """
    end_offset = base_offset + 1
    path = _with(_file(directory, base_offset, "log"), SWAP)
    fd = disk.open(path, os.O_RDONLY)
    try:
        for _, header in scan_headers(fd, 0, os.fstat(fd).st_size, disk.read):
            end_offset = header.next_offset
    finally:
        disk.close(fd)
    logger.warning("interrupted swap of a cleaned segment completed log=%s end_offset=%d", path, end_offset)
    for name in os.listdir(directory):
        stem, _, kind = name.partition(".")
        if kind in _KINDS and stem.isdecimal() and base_offset <= int(stem) < end_offset:
            disk.unlink(directory / name)


def _file(directory: Path, offset: int, kind: str) -> Path:
    return directory / f"{offset:020d}.{kind}"


def _with(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
