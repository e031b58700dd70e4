"""AlterPartitionReassignments as a decision: checked as Kafka checks it, and done where there is nothing to move.

Moving a replica needs followers, which this release does not have: what would move data is refused, never half done.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.partitions.new_partitions import wrong_with
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_wire.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Move:
    """Where a partition's replicas should be; None: cancel the move that is under way."""

    topic: str
    partition: int
    replicas: tuple[int, ...] | None


def check_moves(machine: ControllerMachine, moves: Sequence[Move]) -> list[Outcome]:
    outcomes = []
    for move in moves:
        try:
            _check(machine, move)
            outcomes.append(DONE)
        except Refused as refused:
            outcomes.append(Outcome.of(refused))
    return outcomes


def _check(machine: ControllerMachine, move: Move) -> None:
    if machine.image.topic(move.topic) is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {move.topic}.")
    partition = machine.image.partition(move.topic, move.partition)
    if partition is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {move.topic}:{move.partition}.")
    if move.replicas is None:
        raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    wrong = wrong_with(move.replicas, machine)
    if wrong is not None:
        raise _invalid(f"The manual partition assignment includes {wrong}")
    if move.replicas != partition.replicas:
        message = (
            f"{move.topic}-{move.partition} stays on broker {partition.replicas[0]}: "
            "this release keeps one replica of each partition and does not move it."
        )
        raise _invalid(message)


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
