"""One course from its seed to its verdict."""

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from millstream_simulation.disks.quick import quick_directory
from millstream_simulation.log_alone.course import Course
from millstream_simulation.log_alone.draw import Draw, Trouble
from millstream_simulation.story import Violation


@dataclass(frozen=True, slots=True)
class Outcome:
    violation: str | None
    draw: Draw
    steps: tuple[str, ...]
    """The last ones."""
    situations: Counter[str]


def judged(seed: int, *, without: frozenset[Trouble] = frozenset()) -> Outcome:
    """Let a log go through the course of this seed, in memory where there is a directory for it."""
    with tempfile.TemporaryDirectory(prefix="millstream-log-", dir=quick_directory()) as directory:
        course = Course(seed, Path(directory) / "disk", without=without)
        violation = None
        try:
            course.run()
        except Violation as error:
            violation = str(error).replace(directory, "")
        return Outcome(violation, course.draw, tuple(course.told), course.situations)
