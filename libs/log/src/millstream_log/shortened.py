"""What stays of the segment that a log is cut in."""

from millstream_log.index_file import Entry
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Shortened:
    """Found by reading the segment, so that forgetting the rest takes no look at the disk."""

    size: int
    end_offset: int
    index_entries: int
    last_index_entry: Entry | None
    time_entries: int
    last_time_entry: Entry | None
    max_timestamp: int
    max_timestamp_offset: int
