"""The moment a cleaning shows: on the event loop, between two requests, a group of segments becomes one."""

from pathlib import Path

from millstream_log.cleaner.cleaning import Cleaned
from millstream_log.disk import unlink_if_there
from millstream_log.errors import StorageError
from millstream_log.log import Log
from millstream_log.producer_snapshot import snapshot_offsets, snapshot_path
from millstream_log.segment_swap import Irreversible, discard_cleaned, exchange, settle_exchange


def replace_segments(log: Log, cleaned: Cleaned) -> bool:
    """Put the cleaned segment in its place; return False if the log has let go of one of the old ones meanwhile."""
    gone, put = cleaned.gone, cleaned.put
    segments = log.segments
    at = segments.index(gone[0]) if gone[0] in segments else len(segments)
    if cleaned.generation != log.generation or segments[at : at + len(gone)] != gone:
        discard_cleaned(log.directory, put.base_offset, log.disk)
        return False
    log.refuse_under_truncation()
    log.allow_gaps(short_before=put.base_offset + 1)
    try:
        exchange(log.directory, put.base_offset, [segment.base_offset for segment in gone], log.disk)
    except Irreversible as error:
        log.fail(OSError(str(error)))
        raise
    except OSError as error:
        raise StorageError(f"{log.directory}: {error}") from error
    put.drop_suffix()
    log.replace_segments(gone, put)
    return True


def settle_replacement(log: Log, cleaned: Cleaned) -> list[Path]:
    """Bring the replacement to the disk, which waits for it, so not on the event loop; return the old files, for the caller to remove."""
    bases = [segment.base_offset for segment in cleaned.gone]
    doomed = settle_exchange(log.directory, bases, log.disk)
    for offset in snapshot_offsets(log.directory)[:-1]:
        if offset in bases[1:]:
            unlink_if_there(log.disk, snapshot_path(log.directory, offset))
    return doomed
