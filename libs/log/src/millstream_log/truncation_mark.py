"""The file that makes a truncation one step: from the moment it is on the disk, whoever opens the log completes it.

Once that is done the file gets another name. It stays as a limit for the data directory's checkpoints, which are written at
times only, until one of them has been written since.
"""

import json
from dataclasses import asdict, replace
from pathlib import Path

from millstream_log.atomic_file import read_file, replace_file
from millstream_log.disk import Disk, unlink_if_there
from millstream_log.errors import CorruptFile
from millstream_wire.late_dataclass import dataclass

_UNDER_WAY = "truncation"
_DONE = "truncated"


@dataclass(frozen=True, slots=True)
class TruncationMark:
    end_offset: int
    """Where the log ends, and its newest segment begins."""
    start_offset: int
    """Where the log begins; earlier than what a checkpoint says if everything was cut."""
    checkpoint_offset_max: int
    """What checkpoints say beyond it was true of records that are gone: the least of all cuts since they were written."""
    history_end: int
    """Producers and leader epochs are remembered up to here; -1 if nothing of what was is."""
    gone_from: int
    """Segments with this base offset or a larger one are gone."""
    kept_base: int
    """The segment that was cut inside, -1 if the cut is between two."""
    kept_size: int
    """How much of its file stays."""


def store_mark(directory: Path, mark: TruncationMark, disk: Disk) -> None:
    """Begin: afterwards the log is truncated, even if the process ends here."""
    replace_file(directory / _UNDER_WAY, json.dumps(asdict(mark)).encode(), durable=True, disk=disk)


def finish_mark(directory: Path, disk: Disk) -> None:
    """End: everything that the mark asks for is on the disk."""
    disk.rename(directory / _UNDER_WAY, directory / _DONE)
    disk.sync_directory(directory)


def forget_mark(directory: Path, disk: Disk) -> None:
    """The checkpoints that have been written since know better."""
    unlink_if_there(disk, directory / _DONE)


def load_unfinished(directory: Path, disk: Disk) -> TruncationMark | None:
    """The truncation that a crash interrupted."""
    return _load(directory / _UNDER_WAY, disk)


def load_mark(directory: Path, disk: Disk) -> TruncationMark | None:
    """What limits the checkpoints, of all truncations since they were written."""
    done, unfinished = _load(directory / _DONE, disk), _load(directory / _UNDER_WAY, disk)
    if done is None or unfinished is None:
        return done or unfinished
    least = min(done.checkpoint_offset_max, unfinished.checkpoint_offset_max)
    return replace(unfinished, checkpoint_offset_max=least)


def _load(path: Path, disk: Disk) -> TruncationMark | None:
    try:
        return TruncationMark(**json.loads(read_file(path, disk)))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise CorruptFile(f"{path}: {error}") from error
