"""The last offset of each key in the dirty part of a log: compaction's one big piece of memory, and bounded.

A key that is not short is remembered by a hash of 128 bits, as in Kafka: what a clash would lose is less likely than a
broken disk.
"""

from hashlib import blake2b

_HASH_BYTES = 16
_ENTRY_BYTES = 200  # what an entry of the dictionary costs: hash, offset and slots of a table that is partly empty


class KeyMap:
    def __init__(self, bytes_max: int) -> None:
        self._capacity = max(1, bytes_max // _ENTRY_BYTES)
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def has_room_for(self, count: int) -> bool:
        """Whether `count` more keys fit; an empty map takes a batch of any size, or nothing would ever move on."""
        return not self._offsets or len(self._offsets) + count <= self._capacity

    def put(self, key: bytes, offset: int) -> None:
        self._offsets[_short(key)] = offset

    def last_offset(self, key: bytes) -> int:
        """The offset of the last dirty record of `key`, -1 if there is none."""
        return self._offsets.get(_short(key), -1)


def _short(key: bytes) -> bytes:
    return key if len(key) < _HASH_BYTES else blake2b(key, digest_size=_HASH_BYTES).digest()
