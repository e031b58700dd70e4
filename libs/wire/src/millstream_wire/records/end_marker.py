"""The control record that ends a transaction in a partition."""

from struct import Struct

from millstream_wire.late_dataclass import dataclass
from millstream_wire.records.record import Record


@dataclass(frozen=True, slots=True)
class EndMarker:
    committed: bool
    coordinator_epoch: int

    def encode(self, timestamp: int) -> Record:
        key = _key.pack(0, 1 if self.committed else 0)
        return Record(offset=-1, timestamp=timestamp, key=key, value=_value.pack(0, self.coordinator_epoch))

    @classmethod
    def decode(cls, record: Record) -> "EndMarker | None":
        """Return None for control records of other kinds (Raft's leader changes and snapshots)."""
        key, value = record.key, record.value
        if key is None or value is None or len(key) < _key.size or len(value) < _value.size:
            return None
        kind = _key.unpack_from(key)[1]
        if kind not in (0, 1):
            return None
        return cls(committed=kind == 1, coordinator_epoch=_value.unpack_from(value)[1])


_key = Struct(">hh")
_value = Struct(">hi")
