"""One file as the disk has it, beside what the page cache shows: pages that are dirty, and pages that were lost in silence."""

import random

PAGE_BYTES = 4096


class Platter:
    """Invariant: a page is in at most one of `_dirty` and `_lost`.

    The page cache is the real file: whoever changes that says so here.
    """

    __slots__ = ("_data", "_dirty", "_lost", "_sound_to")

    def __init__(self, data: bytes) -> None:
        self._data = bytearray(data)
        """The file as the last flush left it."""
        self._dirty: set[int] = set()
        """Pages to be written by the next flush."""
        self._lost: set[int] = set()
        """Pages that a flush failed to write. They count as clean: no later flush writes them unless they change again."""
        self._sound_to = len(data)
        """The shortest that the file has been since that flush: what `_data` has from here on was cut off."""

    @property
    def is_clean(self) -> bool:
        return not self._dirty and not self._lost and self._sound_to == len(self._data)

    def note_written(self, start: int, end: int) -> None:
        """The bytes `[start, end)` have changed; the whole of their pages will be written."""
        pages = range(start // PAGE_BYTES, -(-end // PAGE_BYTES))
        self._dirty.update(pages)
        self._lost.difference_update(pages)

    def note_resized(self, before: int, after: int) -> None:
        if after > before:
            self.note_written(before, after)
            return
        self._sound_to = min(self._sound_to, after)
        gone = range(-(-after // PAGE_BYTES), -(-before // PAGE_BYTES))
        self._dirty.difference_update(gone)
        self._lost.difference_update(gone)
        if after % PAGE_BYTES:  # the rest of the last page is made zero
            self.note_written(after - 1, after)

    def flush(self, shown: bytes) -> None:
        """`shown`: the whole file as the page cache has it."""
        self._data = self._with(shown, self._dirty, len(shown))
        self._dirty.clear()
        self._sound_to = len(shown)

    def fail_flush(self) -> None:
        """The kernel tells this flush of the error, and then takes the pages for clean."""
        self._lost |= self._dirty
        self._dirty.clear()

    def forget(self, shown: bytes, position: int) -> bytes:
        """What the file shows once the clean pages that lie wholly behind `position` are read from the disk again."""
        again = {page for page in self._lost if page * PAGE_BYTES >= position}
        self._lost -= again
        data = bytearray(shown)
        on_disk = self._with(shown, set(), len(shown))
        for page in again:
            part = slice(page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
            data[part] = on_disk[part]
        return bytes(data)

    def after_power_loss(self, shown: bytes, draw: random.Random) -> bytes:
        """What is there afterwards. What was flushed is; of the rest, any page or any part of one may be."""
        if self.is_clean or draw.random() < 0.3:
            return bytes(self._data)
        kept = set(self._dirty)
        if draw.random() < 0.5:
            kept = {page for page in sorted(kept) if draw.random() < 0.5}
        size = len(shown)
        flushed = min(self._sound_to, size)
        if draw.random() < 0.5:
            size = draw.randint(flushed, size)
        data = self._with(shown, kept, size)
        if kept and draw.random() < 0.5:  # power went while this page was written
            page = draw.choice(sorted(kept))
            torn, end = draw.randint(page * PAGE_BYTES, (page + 1) * PAGE_BYTES), (page + 1) * PAGE_BYTES
            data[torn:end] = self._with(shown, kept - {page}, size)[torn:end]
        return bytes(data)

    def _with(self, shown: bytes, pages: set[int], size: int) -> bytearray:
        """The flushed data, with these pages as they are shown, and zeros where nothing was ever written."""
        data = self._data[: min(self._sound_to, size)]
        data += bytes(size - len(data))
        for page in pages:
            part = slice(page * PAGE_BYTES, min((page + 1) * PAGE_BYTES, size))
            data[part] = shown[part]
        return data
