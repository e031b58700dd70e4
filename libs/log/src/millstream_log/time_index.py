"""The time index of a segment: timestamps that are larger than all before them, and the offset that carries them."""

from pathlib import Path
from struct import Struct

from millstream_log.disk import DISK, Disk
from millstream_log.index_file import IndexFile
from millstream_log.page_cache import Reader

_entry = Struct(">qi")  # timestamp, offset relative to the segment's base
_TIMESTAMP, _OFFSET = 0, 1


class TimeIndex(IndexFile):
    __slots__ = ("_base_offset",)

    def __init__(self, path: Path, base_offset: int, disk: Disk = DISK) -> None:
        super().__init__(path, _entry, disk)
        self._base_offset = base_offset

    def load(self) -> bool:
        """Also refuse the zeros that a broker leaves behind when it dies with a file it had allocated ahead."""
        if not super().load():
            return False
        return self.last != (0, 0)

    def add(self, timestamp: int, offset: int) -> None:
        """Note that up to `offset` no record is younger than `timestamp`; what is no news is left out."""
        last = self.last
        if timestamp >= 0 and (last is None or timestamp > last[_TIMESTAMP]):
            self.append((timestamp, offset - self._base_offset))

    def offset_before(self, timestamp: int, read: Reader | None = None) -> int:
        """Return an offset such that every record before it is older than `timestamp`."""
        entry = self.floor(timestamp - 1, _TIMESTAMP, read)
        return self._base_offset + (entry[_OFFSET] if entry is not None else 0)

    @property
    def largest(self) -> tuple[int, int] | None:
        """The largest timestamp and the offset of its batch's end."""
        last = self.last
        return None if last is None else (last[_TIMESTAMP], last[_OFFSET] + self._base_offset)

    def count_before(self, offset: int) -> int:
        """Return how many entries speak of records before `offset`."""
        return self.count_below(offset - self._base_offset, _OFFSET)

    def largest_of(self, entries: int) -> tuple[int, int] | None:
        """As `largest`, of the first so many entries."""
        if entries == 0:
            return None
        timestamp, offset = self[entries - 1]
        return timestamp, offset + self._base_offset

    def truncate_to(self, offset: int) -> None:
        """Forget entries whose offset is at or after `offset`."""
        count = len(self)
        while count and self[count - 1][_OFFSET] + self._base_offset >= offset:
            count -= 1
        self.truncate(count)
