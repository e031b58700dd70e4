"""Producer ids for idempotent producers, handed out of blocks that the controller allocates.

The next block is asked for before the present one is used up, so that producers can start while the controller is away.
"""

from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """The ids `[start, end)`."""

    start: int
    end: int


class ProducerIds:
    """Ids are given once, in order; at most two blocks are held."""

    __slots__ = ("_current", "_next", "_refill_below")

    def __init__(self, refill_below: int = 500) -> None:
        self._current = ProducerIdBlock(0, 0)
        self._next: ProducerIdBlock | None = None
        self._refill_below = refill_below

    def take(self) -> int | None:
        """The next id; None while there is no block to take it from."""
        if self._current.start == self._current.end:
            if self._next is None:
                return None
            self._current, self._next = self._next, None
        producer_id = self._current.start
        self._current = ProducerIdBlock(producer_id + 1, self._current.end)
        return producer_id

    def wants_block(self) -> bool:
        return self._next is None and self._current.end - self._current.start < self._refill_below

    def add(self, block: ProducerIdBlock) -> None:
        assert self._next is None, "a block was asked for without need"
        self._next = block
