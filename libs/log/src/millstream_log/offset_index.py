"""The offset index of a segment: for one batch in every few kilobytes, its last offset and its position."""

from pathlib import Path
from struct import Struct

from millstream_log.disk import DISK, Disk
from millstream_log.index_file import Entry, IndexFile
from millstream_log.page_cache import Reader

_entry = Struct(">ii")  # offset relative to the segment's base, position
_OFFSET, _POSITION = 0, 1


class OffsetIndex(IndexFile):
    __slots__ = ("_base_offset",)

    def __init__(self, path: Path, base_offset: int, disk: Disk = DISK) -> None:
        super().__init__(path, _entry, disk)
        self._base_offset = base_offset

    def load(self) -> bool:
        """Also refuse the zeros that a broker leaves behind when it dies with a file it had allocated ahead."""
        if not super().load():
            return False
        last = self.last
        return last is None or (last[_OFFSET] > 0 and last[_POSITION] > 0)

    def add(self, last_offset: int, position: int) -> None:
        self.append((last_offset - self._base_offset, position))

    def position_of(self, offset: int, read: Reader | None = None) -> int:
        """Return a position at or before the batch that holds `offset`."""
        return _position(self.floor(offset - self._base_offset, _OFFSET, read))

    def entry_before(self, offset: int) -> Entry | None:
        """Return last offset and position of the last indexed batch that ends before `offset`."""
        entry = self.floor(offset - self._base_offset - 1, _OFFSET)
        return None if entry is None else (entry[_OFFSET] + self._base_offset, entry[_POSITION])

    def position_before(self, position: int, read: Reader | None = None) -> int:
        """Return the start of a batch at or before `position`."""
        return _position(self.floor(position, _POSITION, read))

    @property
    def last_position(self) -> int:
        return _position(self.last)

    def position_back(self, offset: int, entries: int) -> int:
        """Return the start of the batch so many entries before `offset`; of the segment's first one if there are fewer."""
        count = self.count_below(offset - self._base_offset, _OFFSET)
        return self[count - entries][_POSITION] if count >= entries else 0

    def count_before(self, position: int) -> int:
        """Return how many of the indexed batches start before `position`."""
        return self.count_below(position, _POSITION)

    def position_at(self, entries: int) -> int:
        """Return the start of the batch that the first so many entries end with; of the segment's first one if there are none."""
        return self[entries - 1][_POSITION] if entries else 0

    def truncate_to(self, position: int) -> None:
        """Forget the batches that start at `position` or later."""
        count = len(self)
        while count and self[count - 1][_POSITION] >= position:
            count -= 1
        self.truncate(count)


def _position(entry: Entry | None) -> int:
    return entry[_POSITION] if entry is not None else 0
