"""Who has which partition, as far as a consumer group's members can know: no two may have one at the same time.

A member surely has a partition from the answer that confirmed it until the last request for which it was confirmed again.
Those times of two members must not overlap, whatever either of them believes in between and after.
"""

from dataclasses import dataclass

from millstream_simulation.story import Violation

Partition = tuple[str, int]
"""Topic and index."""


@dataclass(slots=True)
class _Holding:
    member: str
    since_s: float
    until_s: float
    over: bool = False


class Ownership:
    """Of one group."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._holdings: dict[Partition, list[_Holding]] = {}
        self._epochs: dict[str, int] = {}

    def note_confirmed(self, member: str, partition: Partition, *, asked_s: float, answered_s: float) -> None:
        """The coordinator took something that only the partition's owner may say."""
        holdings = self._holdings.setdefault(partition, [])
        for holding in holdings:
            if holding.member == member and not holding.over:
                holding.until_s = max(holding.until_s, asked_s)
                break
        else:
            holding = _Holding(member, answered_s, answered_s)
            holdings.append(holding)
        for other in holdings:
            if other.member != member and max(other.since_s, holding.since_s) < min(other.until_s, holding.until_s):
                raise Violation(
                    f"group {self._group}: {member} and {other.member} both had {partition[0]}-{partition[1]} "
                    f"at {max(other.since_s, holding.since_s):.3f} s"
                )

    def note_given_up(self, member: str, partition: Partition) -> None:
        """The member lets go of it, or was told that it has it no more."""
        for holding in self._holdings.get(partition, ()):
            if holding.member == member:
                holding.over = True

    def note_epoch(self, member: str, epoch: int) -> None:
        """The member was told its epoch; in one life it never goes back."""
        before = self._epochs.get(member, 0)
        if epoch < before:
            raise Violation(f"group {self._group}: {member} went from epoch {before} to {epoch}")
        self._epochs[member] = epoch

    def note_end_of_life(self, member: str) -> None:
        self._epochs.pop(member, None)
