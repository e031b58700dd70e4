"""A partition's copies as a model keeps them beside the controller: who has which writes, and what was acknowledged.

It knows nothing of ISR or ELR but what the Image says, and promises one thing: whoever the Image calls in sync or eligible, and
is not down with a broken disk, has everything that was acknowledged.
"""

from dataclasses import dataclass, field

Log = tuple[int, ...]


@dataclass
class Copies:
    """The copies of one partition by broker, each as the numbers of its writes."""

    logs: dict[int, Log] = field(default_factory=dict)
    committed: Log = ()
    fetched: dict[int, tuple[int, int]] = field(default_factory=dict)
    """What the leader remembers of each follower: the broker epoch that fetched, and how far it was."""
    pending: tuple[int, tuple[int, ...]] = (-1, ())
    """The ISR that the leader has proposed and not had an answer for, and the partition epoch that it is proposed in."""
    leader_epoch: int = -1
    epoch_start: int = 0
    """Where the log of the leader ended when its epoch began."""

    def log(self, broker: int) -> Log:
        return self.logs.get(broker, ())

    def lead(self, leader: int, leader_epoch: int) -> None:
        """A leader forgets in a new epoch what it knew of its followers."""
        if leader_epoch != self.leader_epoch:
            self.leader_epoch = leader_epoch
            self.epoch_start = len(self.log(leader))
            self.fetched = {}

    def accept_loss(self, leader: int) -> None:
        """An election that was not clean: what its leader does not have is gone."""
        self.committed = common(self.committed, self.log(leader))

    def write(self, leader: int, number: int) -> None:
        self.logs[leader] = (*self.log(leader), number)

    def fetch(self, follower: int, follower_epoch: int, leader: int, most: int) -> None:
        """Cut what the leader does not have, then copy some of what it has, and say so with the next fetch."""
        same = len(common(self.log(follower), self.log(leader)))
        self.logs[follower] = self.log(leader)[: same + most]
        self.fetched[follower] = (follower_epoch, len(self.logs[follower]))

    def awaits(self, partition_epoch: int) -> tuple[int, ...]:
        """Whom a proposal without an answer would let in; once the partition is in another state it is void."""
        return self.pending[1] if self.pending[0] == partition_epoch else ()

    def commit(self, leader: int, isr: tuple[int, ...], partition_epoch: int) -> None:
        """What all have who are in sync, or may be by now, is acknowledged, as far as the leader knows."""
        members = {*isr, *self.awaits(partition_epoch)} - {leader}
        known = [self.fetched.get(member, (0, 0))[1] for member in members]
        end = min([len(self.log(leader)), *known])
        if end > len(self.committed):
            self.committed = self.log(leader)[:end]

    def may_join(self, follower: int) -> bool:
        """Whether the leader believes that it has everything that was committed, and something of this epoch's."""
        _, end = self.fetched.get(follower, (0, -1))
        return end >= max(len(self.committed), self.epoch_start)

    def has_all(self, broker: int) -> bool:
        return self.log(broker)[: len(self.committed)] == self.committed


def common(one: Log, other: Log) -> Log:
    """What two logs begin with alike."""
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return one[:length]
