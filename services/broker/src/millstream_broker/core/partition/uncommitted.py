"""How many bytes lie between two offsets above the high watermark: whoever waits for bytes is told with each move of it."""

from typing import Final

from mypy_extensions import i64

UNCOMMITTED_MAX: Final = 1_000
"""Of how many appends that are not committed the size is known; beyond that neighbours are taken together."""
UNKNOWN_SIZE: Final = 1 << 40


class Uncommitted:
    """Invariant (`check`): ends rise, and there are at most UNCOMMITTED_MAX of them."""

    __slots__ = ("_sizes",)

    def __init__(self) -> None:
        self._sizes: list[tuple[int, int]] = []
        """(end offset, size) of each append."""

    def add(self, end_offset: i64, size: i64) -> None:
        if len(self._sizes) >= UNCOMMITTED_MAX:
            size += self._sizes.pop()[1]
        self._sizes.append((end_offset, size))

    def take(self, offset: i64) -> i64:
        """The size of what ends up to `offset`; what spans it counts, and counts again when the rest is committed."""
        size: i64 = 0
        while self._sizes:
            end, more = self._sizes[0]
            size += more
            if end > offset:
                break
            del self._sizes[0]
            if end == offset:
                break
        return size

    def cut(self, high_watermark: i64, end_offset: i64) -> None:
        """The log ends here now; where an append is cut through nobody knows how much is left."""
        self._sizes.clear()
        if high_watermark < end_offset:
            self._sizes.append((end_offset, UNKNOWN_SIZE))

    def check(self) -> None:
        assert len(self._sizes) <= UNCOMMITTED_MAX
        ends = [end for end, _ in self._sizes]
        assert ends == sorted(set(ends))
