"""What a job refuses, with the exit status that a script can tell apart."""


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


class LakeIncomplete(JobError):
    """The audit found that what is stored is not what the topic holds."""

    exit_status = 5


def first_line(error: Exception) -> str:
    """Return the line of an error of Spark's that says what it is about: what follows are traces of two languages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next(
        (line for line in lines if not line.startswith("An error occurred while calling")), type(error).__name__
    )
