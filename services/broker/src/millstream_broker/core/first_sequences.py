"""Where producers begin that a partition does not know: of those, batches may be refused while others are on their way.

The log takes whatever an unknown producer comes with, because its state may have expired. So when the first batch of one is
refused and is to be sent again, those behind it must not be taken for the first.
"""

from collections import OrderedDict
from typing import Final
from uuid import UUID

Key = tuple[UUID, int, int]
"""Topic id, partition, producer id."""

_REMEMBERED: Final = 10_000
"""Of producers that give up, nothing more comes."""


class FirstSequences:
    def __init__(self, remembered: int = _REMEMBERED) -> None:
        self._remembered = remembered
        self._lowest: OrderedDict[Key, tuple[int, int]] = OrderedDict()  # producer epoch, lowest sequence seen

    def __len__(self) -> int:
        return len(self._lowest)

    def comes_first(self, key: Key, epoch: int, sequence: int) -> bool:
        """Whether no batch before this one was seen of the producer's epoch; remembers that this one was."""
        known = self._lowest.get(key)
        if known is not None and known[0] == epoch and known[1] < sequence:
            return False
        self._lowest[key] = epoch, sequence
        self._lowest.move_to_end(key)
        if len(self._lowest) > self._remembered:
            self._lowest.popitem(last=False)
        return True

    def forget(self, key: Key) -> None:
        """The partition knows the producer now."""
        self._lowest.pop(key, None)
