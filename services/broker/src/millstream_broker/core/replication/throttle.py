"""How fast replicas are copied that are throttled, on the leader's and on the follower's side (KIP-73), as buckets of bytes.

Which replicas are throttled a topic says; how many bytes a second all of them may have together, a broker. Time is an argument.
"""

from collections.abc import Iterable

from millstream_wire.late_dataclass import dataclass

LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
STANDSTILL_MS = 1_000
BURST_MS = 1_000
"""What was not used is kept for as long: a copy that paused does not flood the network."""


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """The replicas that one topic names: none, `*` for all, or pairs of partition and broker."""

    all: bool = False
    pairs: frozenset[tuple[int, int]] = frozenset()

    @staticmethod
    def of(items: Iterable[str]) -> "ThrottledReplicas":
        """The parsed value of the topic's config, which has been checked."""
        named = tuple(items)
        if named == ("*",):
            return ThrottledReplicas(all=True)
        pairs = (item.partition(":") for item in named)
        return ThrottledReplicas(pairs=frozenset((int(partition), int(broker)) for partition, _, broker in pairs))

    def has(self, partition: int, broker: int) -> bool:
        return self.all or (partition, broker) in self.pairs


@dataclass(frozen=True, slots=True)
class Copying:
    """One replica that is about to be sent, or asked for, what it does not have yet."""

    throttled: bool
    """Whether its topic names it."""
    in_sync: bool
    """Whether it is in the ISR: acknowledgements wait for it."""
    nearly: bool
    """Whether it had all that was committed when it last asked: it is about to join, and would fall behind again if it were held."""


class Throttle:
    """One side's bucket of bytes. It fills at the rate, and an answer takes out what it has: at most one answer too much.

    Only copies that the topic names, are not in sync and not nearly so wait for it, and only they take from it: so no
    replica drops out of the ISR, or never joins, because of a throttle.
    """

    __slots__ = ("_at_ms", "_millibytes", "_rate")

    def __init__(self) -> None:
        self._rate: int | None = None
        self._millibytes = 0
        """In thousandths, so that a slow rate and short times lose nothing."""
        self._at_ms = 0

    def configure(self, bytes_per_s: int | None, now_ms: int) -> None:
        """None: no bound. A new rate begins with a full bucket."""
        if bytes_per_s == self._rate:
            return
        self._rate = bytes_per_s
        self._millibytes = 0 if bytes_per_s is None else bytes_per_s * BURST_MS
        self._at_ms = now_ms

    def admits(self, copying: Copying, now_ms: int) -> bool:
        """Whether this copy may go on now."""
        if self._rate is None or not _waits(copying):
            return True
        self._fill(now_ms)
        return self._millibytes > 0

    def took(self, copying: Copying, size: int, now_ms: int) -> None:
        """So many bytes were sent, or came, for it."""
        if self._rate is not None and _waits(copying):
            self._fill(now_ms)
            self._millibytes -= size * 1000

    def wait_ms(self, now_ms: int) -> int:
        """How long until a copy that is held may go on; at a rate of 0, until it is worth asking again."""
        if self._rate is None:
            return 0
        self._fill(now_ms)
        if self._millibytes > 0:
            return 0
        return -self._millibytes // self._rate + 1 if self._rate else STANDSTILL_MS

    def _fill(self, now_ms: int) -> None:
        assert self._rate is not None, "without a rate there is nothing to fill"
        elapsed_ms = max(now_ms - self._at_ms, 0)
        self._at_ms = max(now_ms, self._at_ms)
        self._millibytes = min(self._millibytes + elapsed_ms * self._rate, self._rate * BURST_MS)


def _waits(copying: Copying) -> bool:
    return copying.throttled and not copying.in_sync and not copying.nearly
