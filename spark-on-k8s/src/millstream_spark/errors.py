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


class BadConfig(JobError):
    """The options or the configuration file say something that makes no sense."""

    exit_status = 2


class BadOffsets(JobError):
    """A range was asked for that the topic does not have."""

    exit_status = 2


class TopicUnavailable(JobError):
    """The topic does not exist, or nobody answers."""

    exit_status = 3


class ClusterRefused(JobError):
    """A cluster does not do what the job needs: it does not answer, or says no."""

    exit_status = 3


class RecordsGone(JobError):
    """Records were deleted before they were read: going on would leave a hole."""

    exit_status = 4


class LineageBroken(JobError):
    """Going on would leave a hole in the lake or mix two histories: another topic, another lake, a lost checkpoint."""

    exit_status = 4


class SinkRefused(JobError):
    """Going on could lose rows or write them twice: what the topic holds and the checkpoint do not fit together."""

    exit_status = 4


class OutputUnwritable(JobError):
    """The output or the checkpoint cannot be written: no right, no room."""

    exit_status = 8


class SegmentsUnavailable(JobError):
    """The directory does not have what was asked for, or does not say what of it is committed."""

    exit_status = 2


class SegmentDamaged(JobError):
    """A segment's bytes are not whole or not what was written: no row of its batch is to be believed."""

    exit_status = 6


class RecordRefused(JobError):
    """One record cannot be read or written as it is, and is named."""

    exit_status = 6


class LakeIncomplete(JobError):
    """The audit found that what is stored is not what the topic holds."""

    exit_status = 5
