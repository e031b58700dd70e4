"""The copies under way: each partition that this broker follows, and one fetcher for each leader that it follows."""

import asyncio
from collections.abc import Callable

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.partition.follower import Follower
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.replication.copying import Copying, may_append
from millstream_broker.shell.replication.cutting import Cutting
from millstream_broker.shell.replication.fetcher import Fetcher
from millstream_broker.shell.replication.followed import Followed
from millstream_broker.shell.replication.throttling import FollowerThrottling
from millstream_cluster.members import Partition


class Fetching:
    """Invariant: each partition in `_followed` is asked for by its leader's fetcher, in one leader epoch."""

    def __init__(self, broker: Broker, broker_epoch: Callable[[], int]) -> None:
        self._broker = broker
        self._broker_epoch = broker_epoch
        self._copying = Copying(broker)
        self._cutting = Cutting(broker, self._copying)
        self._throttling = FollowerThrottling(broker)
        self._followed: dict[ReplicaKey, Followed] = {}
        self._fetchers: dict[int, Fetcher] = {}
        self._to_start: list[Fetcher] = []
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._followed)

    async def run(self) -> None:
        """Fetch until cancelled. A leader of nothing is asked nothing, so its fetcher may stay."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._cutting.run())
            while True:
                for fetcher in self._to_start:
                    tasks.create_task(fetcher.run())
                self._to_start.clear()
                self._wake.clear()
                await self._wake.wait()

    def follow(self, replica: HostedPartition, partition: Partition) -> None:
        """Copy it from its leader from now on, if that is not under way."""
        if replica.key in self._followed:
            return
        leader = int(partition.leader)
        fetcher = self._fetchers.get(leader)
        if fetcher is None:
            fetcher = Fetcher(leader, self._broker, self._broker_epoch, self._copying, self._throttling)
            self._fetchers[leader] = fetcher
            self._to_start.append(fetcher)
            self._wake.set()
        cannot_append = not may_append(self._broker, replica)
        follower = Follower(leader, partition.leader_epoch, replica.log, cannot_append=cannot_append)
        followed = Followed(replica, follower, fetcher.on_changed)
        self._followed[replica.key] = followed
        if cannot_append:
            self._copying.watch(followed)
        fetcher.add(followed)

    def is_followed_as(self, replica: HostedPartition, partition: Partition) -> bool:
        """Whether it is copied from this leader, in this leader epoch."""
        followed = self._followed.get(replica.key)
        if followed is None:
            return False
        follower = followed.follower
        return (follower.leader, follower.leader_epoch) == (partition.leader, partition.leader_epoch)

    def tell(self, replica: HostedPartition) -> None:
        """There may be something else to say of it to its leader."""
        followed = self._followed.get(replica.key)
        if followed is not None:
            followed.on_changed(followed)

    def stop(self, replica: HostedPartition) -> None:
        followed = self._followed.pop(replica.key, None)
        if followed is not None:
            followed.is_over = True
            self._fetchers[followed.follower.leader].remove(followed)
