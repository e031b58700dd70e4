"""The `.txnindex` file of a segment: the aborted transactions whose end marker is in it, in Kafka's format.

Only few segments have one. Entries are written at once where the disk has room, and reach it before a snapshot of the producers
does: replay begins at the snapshot and makes anew only what comes after it.
"""

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from millstream_log.atomic_file import read_file
from millstream_log.disk import DISK, Disk, unlink_if_there
from millstream_log.errors import StorageError

NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
_VERSION = 0
_entry = Struct(">hqqqq")  # version, producer id, first offset, last offset, last stable offset


class AbortedTransaction(NamedTuple):
    """`last_offset` is its marker's; `last_stable_offset` is where readers of committed records stood once it was there."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """Invariant: the file begins with the first `_written` entries."""

    __slots__ = ("_disk", "_entries", "_failure", "_is_synced", "_written", "path")

    def __init__(self, path: Path, disk: Disk = DISK) -> None:
        self.path = path
        self._disk = disk
        self._entries: list[AbortedTransaction] | None = None
        self._written = 0
        self._is_synced = False  # a process before this one may have written it and died
        self._failure: OSError | None = None

    @property
    def entries(self) -> list[AbortedTransaction]:
        if self._entries is None:
            self._entries = self._load()
            self._written = len(self._entries)
        return self._entries

    def add(self, aborted: AbortedTransaction) -> None:
        """Where there is no room for it, the file follows with `complete`: its marker is in the log already."""
        self.entries.append(aborted)
        self._is_synced = False
        try:
            self.complete()
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise

    def complete(self) -> None:
        """Write what there was no room for when it was added."""
        missing = self.entries[self._written :] if self._entries is not None else []
        if not missing:
            return
        data = b"".join([_entry.pack(_VERSION, *entry) for entry in missing])
        fd = self._disk.open(self.path, os.O_WRONLY | os.O_CREAT)
        try:  # at its place, over what an earlier attempt may have left half written
            self._disk.write(fd, data, self._written * _entry.size)
        finally:
            self._disk.close(fd)
        self._written += len(missing)

    def truncate_to(self, offset: int) -> None:
        """Keep the transactions that ended before `offset`.

        What stays was flushed before a snapshot was stored. Behind it a power loss may have left anything, zeros for one.
        """
        self.forget_after(offset)
        self.complete()
        if not self._holds(len(self.entries)):
            self._cut_file()
            self._is_synced = False

    def forget_after(self, offset: int) -> None:
        """As `truncate_to`, in memory only; the file follows with `store_shortened`."""
        kept: list[AbortedTransaction] = []
        for entry in self.entries:
            follows = entry.first_offset < entry.last_offset and (not kept or kept[-1].last_offset < entry.last_offset)
            if not follows or entry.last_offset >= offset:
                break
            kept.append(entry)
        self._entries = kept
        self._written = min(self._written, len(kept))

    def store_shortened(self) -> None:
        """Let the file hold what memory does, on the disk."""
        self.complete()
        if not self._holds(len(self.entries)):
            self._cut_file()
        if self.path.exists():
            self._disk.sync_file(self.path)

    def _cut_file(self) -> None:
        """Entries are in the order of the log, so what stays comes first and is not touched."""
        fd = self._disk.open(self.path, os.O_WRONLY | os.O_CREAT)
        try:
            self._disk.ftruncate(fd, len(self.entries) * _entry.size)
        finally:
            self._disk.close(fd)

    def sync(self) -> None:
        """Wait until the entries are on the disk; a failure is final, for the kernel forgets it."""
        if self._failure is not None:
            raise StorageError(f"{self.path}: an earlier flush failed: {self._failure}")
        if not self._is_synced:
            self.complete()
            try:
                self._disk.sync_file(self.path)
            except FileNotFoundError:
                assert not self.entries, "an index of aborted transactions is gone"
            except OSError as error:
                self._failure = error
                raise
            self._is_synced = True

    def delete(self) -> None:
        unlink_if_there(self._disk, self.path)
        self._entries, self._written = [], 0

    def _load(self) -> list[AbortedTransaction]:
        """Every whole entry; a torn one at the end is of a transaction that replay will find again."""
        try:
            data = read_file(self.path, self._disk)
        except FileNotFoundError:
            return []
        whole = len(data) - len(data) % _entry.size
        return [AbortedTransaction._make(fields[1:]) for fields in _entry.iter_unpack(data[:whole])]

    def _holds(self, count: int) -> bool:
        try:
            return os.stat(self.path).st_size == count * _entry.size
        except FileNotFoundError:
            return count == 0


def aborted_between(
    indexes: Iterable[TransactionIndex], first_offset: int, end_offset: int
) -> list[AbortedTransaction]:
    """The aborted transactions with records in `[first_offset, end_offset)`; `indexes` from the segment of `first_offset` on."""
    found = []
    for index in indexes:
        try:
            entries = index.entries
        except OSError as error:
            raise StorageError(f"{index.path}: {error}") from error
        for entry in entries:
            if entry.last_offset >= first_offset and entry.first_offset < end_offset:
                found.append(entry)
            if entry.last_stable_offset >= end_offset:
                return found  # those that end later began later
    return found
