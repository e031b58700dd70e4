"""Batches that were refused and will come again: what is behind them has to wait.

The log takes whatever a producer comes with that it does not know, because its state may have expired. When the first of several
batches in flight is refused in passing (the topic is not known yet, its transaction could not be verified), the one
behind it must not be taken for the first: the first, sent again, would be out of order for ever.
"""

from collections import OrderedDict
from typing import Final

Key = tuple[str | bytes, int, int]
"""Topic as the producer names it, partition, producer id."""

_REMEMBERED: Final = 10_000
_COMES_AGAIN_MS: Final = 120_000  # as long as clients try, by default; who gives up begins another epoch


class RefusedBatches:
    """Of each producer the lowest sequence that was refused; `lowest` is empty nearly always."""

    __slots__ = ("_remembered", "lowest")

    def __init__(self, remembered: int = _REMEMBERED) -> None:
        self._remembered = remembered
        self.lowest: OrderedDict[Key, tuple[int, int, int]] = OrderedDict()
        """Producer epoch, sequence, and when it was; the oldest first."""

    def add(self, key: Key, epoch: int, sequence: int, now_ms: int) -> None:
        known = self.lowest.get(key)
        if known is not None and known[0] == epoch:
            sequence = min(sequence, known[1])
        self.lowest[key] = epoch, sequence, now_ms
        self.lowest.move_to_end(key)
        if len(self.lowest) > self._remembered:
            self.lowest.popitem(last=False)

    def is_behind(self, key: Key, epoch: int, sequence: int, now_ms: int) -> bool:
        """Whether a batch before this one was refused."""
        while self.lowest:
            oldest = next(iter(self.lowest))
            if now_ms - self.lowest[oldest][2] < _COMES_AGAIN_MS:
                break
            del self.lowest[oldest]
        known = self.lowest.get(key)
        return known is not None and known[0] == epoch and known[1] < sequence

    def forget(self, key: Key) -> None:
        """The log knows the producer: it says what is next."""
        self.lowest.pop(key, None)
