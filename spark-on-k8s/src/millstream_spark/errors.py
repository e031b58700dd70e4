"""What a job refuses, with the exit status that a script can tell apart."""


class JobError(Exception):
    """The root: the job cannot go on and a person has to look."""

    exit_status = 1


class BadCredentials(JobError):
    """The directory that was named is not that of a User's Secret: no other try mends that."""

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
    """The audit found records missing or stored twice."""

    exit_status = 5
