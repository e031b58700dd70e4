"""What the coordinator shows to Prometheus: its shards, groups by state, members, commits."""

from collections import Counter
from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millstream_coordinator.shell.groups import Groups
from millstream_coordinator.shell.shards import Shards


class CoordinatorMetrics(Collector):
    def __init__(self, node_id: int, shards: Shards[Groups]) -> None:
        self._node = str(node_id)
        self._shards = shards

    def collect(self) -> Iterable[Metric]:
        labels = ["coordinator"]
        groups = GaugeMetricFamily("millstream_groups", "Groups by state.", labels=[*labels, "state"])
        members = GaugeMetricFamily("millstream_group_members", "Members of all groups.", labels=labels)
        commits = CounterMetricFamily("millstream_offset_commits", "Offsets committed.", labels=labels)
        shards = GaugeMetricFamily("millstream_shards", "Shards owned.", labels=[*labels, "state"])
        loads = GaugeMetricFamily("millstream_shard_load_seconds", "The slowest last load of a shard.", labels=labels)
        states: Counter[str] = Counter()
        count = 0
        for serving in self._shards.serving():
            shard = serving.shard
            states.update(shard.state_of(group_id).value for group_id in shard.group_ids())
            count += sum(len(group.members) for group in shard.groups.values())
        for state, number in states.items():
            groups.add_metric([self._node, state], number)
        members.add_metric([self._node], count)
        commits.add_metric([self._node], self._shards.commits)
        owned = self._shards.owned()
        shards.add_metric([self._node, "loading"], self._shards.loading)
        shards.add_metric([self._node, "offline"], self._shards.offline)
        shards.add_metric([self._node, "serving"], sum(shard.service is not None for shard in owned))
        loads.add_metric([self._node], max((shard.load_ms or 0 for shard in owned), default=0) / 1000)
        return [groups, members, commits, shards, loads]
