"""ElectLeaders as a decision: a partition goes back to its preferred leader, or gets one that may not be in sync.

What already is as asked is told when it was named, and left out of the answer when everything was asked for.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import NO_NODE
from millstream_cluster.members import Partition
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import RECORDS_MAX
from millstream_controller.core.partitions.change import Cause, Election, next_state
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass


class ElectionType(IntEnum):
    """As ElectLeaders numbers it."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class Ballot:
    """Partitions of one topic to hold an election for."""

    topic: str
    partitions: tuple[int, ...]


Elected = tuple[tuple[str, tuple[tuple[int, Outcome], ...]], ...]


def elect_leaders(
    machine: ControllerMachine, kind: ElectionType, ballots: Sequence[Ballot] | None
) -> Decision[r.MetadataRecord, Elected]:
    """`ballots` None: every partition there is."""
    electorate = Electorate(machine)
    records: list[r.MetadataRecord] = []
    changed: set[tuple[str, int]] = set()
    answers = []
    for ballot in _everything(machine) if ballots is None else ballots:
        outcomes = []
        for index in ballot.partitions:
            try:
                if (ballot.topic, index) in changed:
                    raise _not_needed()
                partition = _find(machine, ballot.topic, index)
                elected = _preferred if kind is ElectionType.PREFERRED else _unclean
                change = elected(partition, electorate)
                if len(records) == RECORDS_MAX:
                    raise Refused(ErrorCode.POLICY_VIOLATION, f"one request elects at most {RECORDS_MAX} leaders")
                records.append(change)
                changed.add((ballot.topic, index))
                outcomes.append((index, DONE))
            except Refused as refused:
                if ballots is not None or refused.error is not ErrorCode.ELECTION_NOT_NEEDED:
                    outcomes.append((index, Outcome.of(refused)))
        answers.append((ballot.topic, tuple(outcomes)))
    return Decision(tuple(records), tuple(answers))


def _everything(machine: ControllerMachine) -> Iterable[Ballot]:
    for topic in machine.image.topics.values():
        yield Ballot(topic.name, tuple(range(len(topic.partitions))))


def _find(machine: ControllerMachine, topic: str, index: int) -> Partition:
    if machine.image.topic(topic) is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic}")
    partition = machine.image.partition(topic, index)
    if partition is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic}-{index}")
    return partition


def _preferred(partition: Partition, electorate: Electorate) -> r.PartitionChanged:
    preferred = partition.replicas[0]
    if partition.leader == preferred:
        raise _not_needed()
    change = next_state(partition, electorate, Cause(election=Election.PREFERRED))
    if change is None or change.leader != preferred:
        message = "The preferred leader was not available."
        raise Refused(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, message)
    return change


def _unclean(partition: Partition, electorate: Electorate) -> r.PartitionChanged:
    """A leader for a partition without one; whoever is not in sync loses what only the others had."""
    if partition.online:
        raise _not_needed()
    change = next_state(partition, electorate, Cause(election=Election.UNCLEAN))
    if change is None or change.leader == NO_NODE:
        raise Refused(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "No eligible leaders are available.")
    return change


def _not_needed() -> Refused:
    return Refused(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
