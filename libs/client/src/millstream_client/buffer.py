"""What was fetched of one partition and not yet handed out: whole batches, unfolded only when somebody wants them.

No I/O. Leaves out what a reader must not see: control records, records before its position and, if it asks for
committed ones only, those of aborted transactions.
"""

from collections import deque
from collections.abc import Sequence

from millstream_client.errors import InvalidData
from millstream_wire.messages.fetch import AbortedTransaction
from millstream_wire.records import (
    BatchHeader,
    EndMarker,
    Record,
    RecordsError,
    check,
    decode_batch,
    parse_header,
    split,
)


class PartitionBuffer:
    """Invariant: `position` <= `fetch_offset`; the batches in between are held, in order."""

    __slots__ = (
        "_aborted",
        "_aborting",
        "_batches",
        "_committed_only",
        "end_offset",
        "fetch_offset",
        "held_bytes",
        "position",
    )

    def __init__(self, offset: int, *, committed_only: bool = False) -> None:
        self.position = offset
        self.fetch_offset = offset
        self.held_bytes = 0
        self.end_offset = -1
        """As of the last fetch: where what may be read ends. Unknown before it."""
        self._committed_only = committed_only
        self._batches: deque[memoryview] = deque()
        self._aborted: dict[tuple[int, int], None] = {}
        self._aborting: set[int] = set()

    def __len__(self) -> int:
        return len(self._batches)

    def add(self, records: memoryview, aborted: Sequence[AbortedTransaction] = ()) -> None:
        """Take a fetched records field; what an earlier one held already is left out."""
        try:
            for batch in split(records, torn_tail=True):
                header = parse_header(batch)
                if header.last_offset >= self.fetch_offset:
                    self._batches.append(batch)
                    self.held_bytes += len(batch)
                    self.fetch_offset = header.next_offset
        except RecordsError as error:
            raise InvalidData(f"at offset {self.fetch_offset}: {error}") from error
        if self._committed_only:
            self._aborted |= dict.fromkeys((each.first_offset, each.producer_id) for each in aborted)

    def take(self) -> list[Record]:
        """The records of the next batch, none if there are none for this reader in it."""
        batch = self._batches.popleft()
        self.held_bytes -= len(batch)
        try:
            header = check(batch)
            position, self.position = self.position, max(self.position, header.next_offset)
            if self._hides(header, batch):
                return []
            records = decode_batch(batch, header)
        except RecordsError as error:
            raise InvalidData(f"at offset {self.position}: {error}") from error
        if header.base_offset < position:
            return [record for record in records if record.offset >= position]
        return records

    def _hides(self, header: BatchHeader, batch: memoryview) -> bool:
        if self._committed_only:
            begun = [each for each in self._aborted if each[0] <= header.last_offset]
            for each in begun:
                del self._aborted[each]
                self._aborting.add(each[1])
        if not header.is_control:
            return header.is_transactional and header.producer_id in self._aborting
        if self._committed_only and header.is_transactional:
            marker = EndMarker.decode(decode_batch(batch, header)[0])
            if marker is not None and not marker.committed:
                self._aborting.discard(header.producer_id)
        return True
