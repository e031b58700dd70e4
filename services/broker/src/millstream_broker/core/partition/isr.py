"""The in-sync replicas of a partition that this node leads: what the controller has committed, and what was proposed to it.

A proposal may have taken effect long before anybody here hears of it, or never take effect. Until that is known both sets
count: what is committed here has to be on all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from mypy_extensions import i64

from millstream_broker.core.partition.effects import IsrMember, ProposeIsr
from millstream_broker.core.partition.progress import NO_BROKER_EPOCH, Progress
from millstream_wire.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class IsrAnswer:
    """What the controller answered to a proposal; without error it also says what is committed now."""

    error_code: ErrorCode
    isr: tuple[int, ...] = ()
    leader_epoch: int = -1
    partition_epoch: int = -1


class Verdict(Enum):
    """What an answer means for the proposal."""

    TAKEN = auto()
    REFUSED = auto()
    """It has not taken effect and will not: the controller knows this very state of the partition, and did nothing."""
    OVERTAKEN = auto()
    """The partition is in a later state, which the metadata will tell; the proposal may be part of it."""
    UNKNOWN = auto()
    """It has to be asked again."""


_VERDICTS: Final = {
    ErrorCode.NONE: Verdict.TAKEN,
    ErrorCode.INELIGIBLE_REPLICA: Verdict.REFUSED,
    ErrorCode.OPERATION_NOT_ATTEMPTED: Verdict.REFUSED,
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: Verdict.REFUSED,
    ErrorCode.FENCED_LEADER_EPOCH: Verdict.OVERTAKEN,
    ErrorCode.INVALID_UPDATE_VERSION: Verdict.OVERTAKEN,
    ErrorCode.INVALID_REQUEST: Verdict.OVERTAKEN,
    ErrorCode.NEW_LEADER_ELECTED: Verdict.OVERTAKEN,
    ErrorCode.UNKNOWN_TOPIC_ID: Verdict.OVERTAKEN,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Verdict.OVERTAKEN,
}


def verdict_of(code: ErrorCode) -> Verdict:
    """NOT_CONTROLLER, a lost answer and whatever else may pass: it is not known whether the proposal took effect."""
    return _VERDICTS.get(code, Verdict.UNKNOWN)


class InSync:
    """Invariant: at most one proposal, for the leader and partition epoch of `committed`: a newer state ends it."""

    __slots__ = ("committed", "is_in_doubt", "proposal")

    def __init__(self) -> None:
        self.committed: tuple[int, ...] = ()
        self.proposal: ProposeIsr | None = None
        self.is_in_doubt = False
        """What came of an earlier request for the proposal is not known: it may still be on its way, and be taken."""

    @property
    def maximal(self) -> tuple[int, ...]:
        """Whoever is in sync, or would be by what was proposed: what is committed has to be on all of these."""
        if self.proposal is None:
            return self.committed
        return tuple(dict.fromkeys((*self.committed, *(member.node_id for member in self.proposal.isr))))

    def lacks(self, node_id: int) -> bool:
        """Whether a replica may be proposed to join now."""
        return node_id not in self.committed and self.proposal is None

    def may_shrink_to(self, isr: Sequence[int]) -> bool:
        """Whether this may be proposed now, and is less than what is committed."""
        return len(isr) < len(self.committed) and self.proposal is None

    def lagging(
        self, followers: Mapping[int, Progress], leader_end_offset: i64, now_ms: i64, lag_max_ms: i64
    ) -> list[int]:
        """Who is in sync as far as the controller knows, and did not keep up."""
        found = []
        for node in self.committed:
            progress = followers.get(node)
            if progress is not None:
                progress.look(now_ms)
                if progress.lags(leader_end_offset, now_ms, lag_max_ms):
                    found.append(node)
        return found

    def learn(self, isr: tuple[int, ...]) -> None:
        """A newer state of the partition: a proposal for the one before is part of it, or can take effect no more."""
        self.committed = isr
        self.drop()

    def drop(self) -> None:
        self.proposal, self.is_in_doubt = None, False

    def judged(self, asked: ProposeIsr, verdict: Verdict) -> bool:
        """An answer that is no consent; True if the proposal has to be asked again.

        A refusal ends a proposal unless an earlier request for it may arrive after all. Such a late one is taken if who was to
        join is eligible again by then, and nobody here would know.
        """
        proposal = self.proposal
        if proposal is None or proposal != asked or verdict is Verdict.OVERTAKEN:
            return False
        lets_in = any(member.node_id not in self.committed for member in proposal.isr)
        if verdict is Verdict.REFUSED and not (self.is_in_doubt and lets_in):
            self.drop()
            return False
        self.is_in_doubt = self.is_in_doubt or verdict is Verdict.UNKNOWN
        return True

    def met(self, node_id: int, life: i64) -> bool:
        """A replica fetches in a life that is registered; True if that ends a proposal of an earlier life, which is refused for ever."""
        if self.proposal is None or not self.is_in_doubt or node_id in self.committed:
            return False
        if any(member.node_id == node_id and member.broker_epoch < life for member in self.proposal.isr):
            self.drop()
            return True
        return False

    def propose(
        self,
        isr: Sequence[int],
        followers: Mapping[int, Progress],
        *,
        leader_epoch: int,
        partition_epoch: int,
        resigns: bool = False,
    ) -> ProposeIsr:
        assert self.proposal is None, "one at a time"
        members = [IsrMember(node, int(_life(followers.get(node)))) for node in isr]
        self.proposal = ProposeIsr(tuple(members), leader_epoch, partition_epoch, resigns)
        return self.proposal


def _life(progress: Progress | None) -> int:
    return NO_BROKER_EPOCH if progress is None else progress.broker_epoch
