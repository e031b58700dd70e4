"""How a decision says no: Kafka's error code and its sentence for the person who asked, if it has one."""

from millstream_cluster.quotas.mutation_quota import Allowance
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass


class Refused(Exception):
    """Raised inside a decision for one item of a request; the decision's caller turns it into that item's answer."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(f"{error.name}: {message}" if message is not None else error.name)
        self.error = error
        self.message = message


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one item of a request."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None

    @staticmethod
    def of(refused: Refused) -> "Outcome":
        return Outcome(refused.error, refused.message)


DONE = Outcome()


def charge(allowance: Allowance, partitions: int) -> None:
    """Refuse what creates or deletes more partitions than its client may."""
    if not allowance.take(partitions):
        raise Refused(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
