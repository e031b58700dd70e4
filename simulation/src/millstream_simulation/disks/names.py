"""What has been done to the names of a directory since they were last flushed, so that a power loss can undo it.

As file systems with a journal do, names are lost in the reverse order of what was done to them: a rename has happened or it has not,
and what came before it has happened too. Each directory is on its own: nothing is said about the order between two of them.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Made:
    name: str


@dataclass(frozen=True, slots=True)
class Moved:
    source: str
    target: str
    replaced: Path | None
    """Where the file is kept that had the target's name."""


@dataclass(frozen=True, slots=True)
class Gone:
    name: str
    kept: Path
    """Where it is kept, in case it comes back."""


Change = Made | Moved | Gone


def undo(directory: Path, change: Change) -> None:
    match change:
        case Made(name):
            remove(directory / name)
        case Moved(source, target, replaced):
            os.rename(directory / target, directory / source)
            if replaced is not None:
                os.rename(replaced, directory / target)
        case Gone(name, kept):
            os.rename(kept, directory / name)


def kept_by(changes: list[Change]) -> Iterator[Path]:
    """What need not be kept any more once these have reached the disk."""
    for change in changes:
        match change:
            case Moved(_, _, Path() as kept) | Gone(_, kept):
                yield kept
            case _:
                continue


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
