"""What the coordinator shows to Prometheus: its shards, groups by state, members, commits."""

from collections import Counter
from collections.abc import Iterable

from millstream_coordinator.shell.groups.groups import Groups
from millstream_coordinator.shell.shards.shards import Shards
from millstream_runtime.exposition import Family, Kind, counter, gauge


class CoordinatorMetrics:
    def __init__(self, node_id: int, shards: Shards[Groups]) -> None:
        self._coordinator = str(node_id)
        self._shards = shards

    def collect(self) -> Iterable[Family]:
        mine = self._coordinator
        groups = Family(Kind.GAUGE, "millstream_groups", "Groups by state.")
        shards = Family(Kind.GAUGE, "millstream_shards", "Shards owned.")
        states: Counter[str] = Counter()
        members = 0
        for serving in self._shards.serving():
            shard = serving.shard
            states.update(shard.state_name(group_id) for group_id in shard.group_ids())
            members += sum(len(group.members) for group in shard.groups.values())
            members += sum(len(group.members) for group in shard.consumers.values())
            members += sum(len(group.members) for group in shard.shares.values())
        for state, number in states.items():
            groups.add(number, coordinator=mine, state=state)
        owned = self._shards.owned()
        shards.add(self._shards.loading, coordinator=mine, state="loading")
        shards.add(self._shards.offline, coordinator=mine, state="offline")
        shards.add(sum(shard.service is not None for shard in owned), coordinator=mine, state="serving")
        load_seconds = max((shard.load_ms or 0 for shard in owned), default=0) / 1000
        return [
            groups,
            gauge("millstream_group_members", "Members of all groups.", members, coordinator=mine),
            counter("millstream_offset_commits", "Offsets committed.", self._shards.commits, coordinator=mine),
            shards,
            gauge("millstream_shard_load_seconds", "The slowest last load of a shard.", load_seconds, coordinator=mine),
        ]
