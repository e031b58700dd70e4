"""What a job refuses, with the exit status that a script can tell apart."""

import re

_OWN = re.compile(r"millstream_spark\.errors\.(\w+): (.*)")
_TRACE = "Traceback (most recent call last):"


class JobError(Exception):
    """The root: the job cannot go on and a person has to look."""

    exit_status = 1


class BadCredentials(JobError):
    """What was named is neither a User's Secret nor a client's properties: no other try mends that."""

    exit_status = 2


class BadQuery(JobError):
    """What was asked of a notebook's functions makes no sense."""

    exit_status = 2


class QueryFailed(JobError):
    """Spark ended the query with an error: the next run goes on where it was."""

    exit_status = 7


class BadConfig(JobError):
    """The configuration file says something that makes no sense."""

    exit_status = 2


class BadOffsets(JobError):
    """A range was asked for that the topic does not have."""

    exit_status = 2


class TopicUnavailable(JobError):
    """The topic does not exist, or nobody answers."""

    exit_status = 3


class LineageBroken(JobError):
    """Going on would leave a hole in the lake or mix two histories: another topic, another lake, a lost checkpoint."""

    exit_status = 4


class SinkRefused(JobError):
    """Going on could lose rows or write them twice: what the topic holds and the checkpoint do not fit together."""

    exit_status = 4


class OutputUnwritable(JobError):
    """The output cannot be written: no right, no room."""

    exit_status = 8


class SegmentsUnavailable(JobError):
    """The directory does not have what was asked for, or does not say what of it is committed."""

    exit_status = 2


class SegmentDamaged(JobError):
    """A segment's bytes are not whole or not what was written: no row of its batch is to be believed."""

    exit_status = 6


class LakeIncomplete(JobError):
    """The audit found that what is stored is not what the topic holds."""

    exit_status = 5


def told(error: Exception) -> JobError:
    """Return what ended Spark's work, without the traces of two languages and the plan around it."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    for line in reversed(lines):
        if (own := _OWN.search(line)) is not None and own[1] in globals():
            kind: type[JobError] = globals()[own[1]]
            return kind(own[2])
    return QueryFailed(_of_python(lines) or _of_java(lines) or type(error).__name__)


def _of_python(lines: list[str]) -> str | None:
    """Return what a worker's trace ends with: the first line behind it that is not indented."""
    traces = [number for number, line in enumerate(lines) if line.strip() == _TRACE]
    if not traces:
        return None
    return next((line for line in lines[traces[-1] + 1 :] if not line.startswith(" ")), None)


def _of_java(lines: list[str]) -> str | None:
    return next((line.strip() for line in lines if not line.startswith("An error occurred while calling")), None)
