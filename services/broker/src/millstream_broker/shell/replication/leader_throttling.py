"""Holds back what this broker sends to throttled replicas that are not in sync: the leader's side of KIP-73.

A topic names the leaders' own replicas (`partition:broker`). What is held is answered as if nothing new were there.
"""

from collections.abc import Callable, Iterable

from millstream_broker.config import BrokerConfig
from millstream_broker.core.reads.fetch_session import FetchPartition
from millstream_broker.core.replication.throttle import Copying, Throttle
from millstream_broker.core.topic_settings import NO_LIMIT_MS
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition_reads import PartitionRead
from millstream_cluster.configs.key import LONG_MAX
from millstream_runtime.world import World


class LeaderThrottling:
    """One bucket for all followers. Without a rate, and for topics that name nobody, a fetch pays for one look."""

    def __init__(self, config: Callable[[], BrokerConfig], world: World) -> None:
        self._config = config
        self._world = world
        self._throttle = Throttle()

    def holds(self, replica: HostedPartition, wanted: FetchPartition, follower: int) -> bool:
        """Whether this follower gets nothing of this partition now."""
        throttled = replica.settings.leader_throttled
        if not throttled.all and not throttled.pairs:
            return False
        now_ms = self._now_ms()
        return not self._throttle.admits(self._copying(replica, wanted, follower), now_ms)

    def sent(self, reads: Iterable[PartitionRead], follower: int) -> None:
        """These are being answered."""
        for each in reads:
            replica = each.replica
            if replica is not None and each.read is not None:
                throttled = replica.settings.leader_throttled
                if throttled.all or throttled.pairs:
                    copying, now_ms = self._copying(replica, each.wanted, follower), self._now_ms()
                    self._throttle.took(copying, len(each.read.slice), now_ms)

    def wait_ms(self, reads: Iterable[PartitionRead], follower: int) -> int:
        """How long to wait until more can be said of them than now, as far as that is up to a throttle."""
        held = any(
            each.replica is not None and each.read is None and self.holds(each.replica, each.wanted, follower)
            for each in reads
        )
        return max(1, self._throttle.wait_ms(self._now_ms())) if held else NO_LIMIT_MS

    def _copying(self, replica: HostedPartition, wanted: FetchPartition, follower: int) -> Copying:
        partition = replica.partition
        return Copying(
            throttled=replica.settings.leader_throttled.has(replica.index, self._config().node_id),
            in_sync=follower in partition.isr,
            nearly=wanted.fetch_offset >= partition.high_watermark,
        )

    def _now_ms(self) -> int:
        """With the rate as it is set now."""
        now_ms = self._world.monotonic_ms()
        rate = self._config().leader_throttled_rate
        self._throttle.configure(None if rate == LONG_MAX else rate, now_ms)
        return now_ms
