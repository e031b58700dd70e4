"""The batches inside of what was read: where each lies, and a slice of some of them."""

from typing import NamedTuple

from millstream_log.errors import ColdRead, StorageError
from millstream_log.file_slice import FileSlice
from millstream_log.page_cache import NotResident
from millstream_log.scan import scan_headers
from millstream_wire.records import BatchHeader, RecordsError


class SlicedBatch(NamedTuple):
    """A batch at a position of its file."""

    position: int
    header: BatchHeader


def batches_of(slice_: FileSlice, *, until: int | None = None, may_wait: bool = True) -> list[SlicedBatch]:
    """Find the batches of a slice of whole ones, up to the one that reaches the offset `until`.

    ColdRead where that has to wait but may not.
    """
    read = slice_.disk.read if may_wait else slice_.disk.read_at_once
    end = slice_.position + len(slice_)
    try:
        batches = []
        for position, header in scan_headers(slice_.fileno(), slice_.position, end, read):
            batches.append(SlicedBatch(position, header))
            if until is not None and header.next_offset >= until:
                break
        return batches
    except NotResident as missing:
        raise ColdRead(slice_.path, missing.position, missing.length) from missing
    except (OSError, RecordsError) as error:
        raise StorageError(f"{slice_.path}: {error}") from error
