"""Which partition a record goes to: by the hash of its key, as Java's clients do it, or in turn if it has none."""

from collections.abc import Sequence

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key, as an unsigned 32-bit number."""
    length = len(data)
    whole = length & ~3
    h = _SEED ^ length
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _MULTIPLIER & _MASK
        k ^= k >> 24
        h = (h * _MULTIPLIER & _MASK) ^ (k * _MULTIPLIER & _MASK)
    if whole < length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    h = (h ^ h >> 13) * _MULTIPLIER & _MASK
    return h ^ h >> 15


def partition_of_key(key: bytes, partitions: int) -> int:
    """Always the same for a key while the number of partitions stays, available or not."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


class RoundRobin:
    """Gives out partitions in turn, those without a leader left out while there are others."""

    __slots__ = ("_turn",)

    def __init__(self, start: int = 0) -> None:
        self._turn = start

    def next(self, partitions: int, available: Sequence[int]) -> int:
        turn = self._turn
        self._turn += 1
        return available[turn % len(available)] if available else turn % partitions
