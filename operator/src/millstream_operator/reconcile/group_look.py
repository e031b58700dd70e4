"""One look at all declared groups of a cluster, shared by whoever comes within a moment, and what is remembered from look to look."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream_cluster.offset_resets import Partition
from millstream_operator.kafka import groups
from millstream_operator.kafka.cluster import ClusterUnreachable, KafkaCluster, Refused
from millstream_operator.plan.consumer_group import GroupSeen, lags_of, stuck_after_ms
from millstream_operator.plan.lag_times import AGES_MS, NARROWED, Behind, LagTimes, Point, Still
from millstream_operator.plan.reset_status import time_ms
from millstream_operator.plan.scope import Body, cluster_key, serves
from millstream_operator.plan.topic_approval import Slowest
from millstream_operator.reconcile.resource import Surroundings, Turns
from millstream_wire.errors import ErrorCode

GLANCE_AGAIN_MS = 3_000
"""How old what is known of all groups may be, for a look that leads to nothing."""
CLUSTERS_MAX = 100


@dataclass(frozen=True, slots=True)
class GroupLook:
    read_ms: int
    """By the monotonic clock."""
    now_ms: int
    glance: groups.Glance
    times: LagTimes

    def behind(self, body: Body, seen: GroupSeen) -> Behind:
        return self.times.behind(
            group_id_of(body),
            _unread(seen),
            _told_stuck(body, seen),
            now_ms=self.now_ms,
            stuck_after_ms=stuck_after_ms(body["spec"]) if seen.members and not seen.withholds else None,
        )

    def slowest(self, topic: str) -> Slowest | None:
        """Who is furthest behind in a topic. Raises ClusterUnreachable, Refused where a group cannot be told of."""
        found = None
        for group_id in self.glance.groups:
            seen = self.glance.of(group_id)
            if seen.unanswered:
                raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, f"what group {group_id} has not read is not known")
            unread = {each: at for each, at in _unread(seen).items() if each[0] == topic}
            behind_ms = self.times.oldest_ms(unread, self.now_ms)
            if unread and (found is None or behind_ms > found.behind_ms):
                found = Slowest(group_id, behind_ms)
        return found


class GroupLooks:
    def __init__(self, around: Surroundings) -> None:
        self._world = around.world
        self._looks: OrderedDict[str, GroupLook] = OrderedDict()
        """By the Cluster's uid: the connection to it is made anew now and then."""
        self._failures: dict[str, tuple[int, ClusterUnreachable | Refused]] = {}
        """Of a moment ago: they are everybody's, too."""
        self._turns = Turns()

    async def at(self, kafka: KafkaCluster, cluster: Body, body: Body, siblings: Sequence[Body]) -> GroupLook:
        """Whoever looks first looks for the others."""
        uid = cluster["metadata"]["uid"]
        async with self._turns.of(cluster):
            found = self._looks.get(uid)
            now_ms = self._world.monotonic_ms()
            self._failures = {key: each for key, each in self._failures.items() if now_ms - each[0] < GLANCE_AGAIN_MS}
            if uid in self._failures:
                raise self._failures[uid][1].with_traceback(None)
            is_known = found is not None and group_id_of(body) in found.glance.groups
            if found is None or not is_known or now_ms - found.read_ms >= GLANCE_AGAIN_MS:
                times = LagTimes() if found is None else found.times
                try:
                    found = self._looks[uid] = await self._look(kafka, cluster, body, siblings, times)
                except (ClusterUnreachable, Refused) as error:
                    self._failures[uid] = self._world.monotonic_ms(), error
                    raise
                if len(self._looks) > CLUSTERS_MAX:
                    self._looks.popitem(last=False)
            self._looks.move_to_end(uid)
            return found

    async def _look(
        self, kafka: KafkaCluster, cluster: Body, body: Body, siblings: Sequence[Body], times: LagTimes
    ) -> GroupLook:
        key = cluster_key(body)
        declared: dict[str, set[str]] = {}
        for each in (body, *siblings):
            if cluster_key(each) == key and serves(cluster, each["metadata"]["namespace"]):
                declared.setdefault(group_id_of(each), set()).update(each["spec"].get("topics") or ())
        glance = await groups.glance_at(kafka, {group: sorted(topics) for group, topics in declared.items()})
        now_ms = self._world.now_ms()
        times.saw(now_ms, glance.ends, declared)
        unread = [_unread(each) for each in glance.groups.values() if isinstance(each, GroupSeen)]
        unknown = times.unknown(unread)
        if unknown:
            await _ask_for_the_past(kafka, times, unknown, now_ms)
        return GroupLook(self._world.monotonic_ms(), now_ms, glance, times)


async def _ask_for_the_past(
    kafka: KafkaCluster, times: LagTimes, unknown: Mapping[Partition, int], now_ms: int
) -> None:
    """At a few ages all of them alike, then each nearer and nearer to its oldest unread record."""
    found: dict[Partition, list[Point]] = {each: [] for each in unknown}
    for age_ms in AGES_MS:
        for partition, point in (await _points(kafka, dict.fromkeys(unknown, now_ms - age_ms))).items():
            found[partition].append(point)
    times.remember(found)
    for _ in range(NARROWED):
        nearer = await _points(kafka, times.narrowing(unknown))
        times.remember({partition: [point] for partition, point in nearer.items()})


async def _points(kafka: KafkaCluster, times_ms: Mapping[Partition, int]) -> dict[Partition, Point]:
    """What is not known of a moment (nothing is that young, or nobody answers) is left out."""
    if not times_ms:
        return {}
    found = await groups.offsets_at(kafka, times_ms)
    return {each: Point(times_ms[each], offset) for each, offset in found.items() if offset >= 0}


def _unread(seen: GroupSeen) -> dict[Partition, int]:
    """The first record that it has not read, of each partition where there is one."""
    return {each: seen.position(each) for each, lag in lags_of(seen).items() if lag > 0}


def _told_stuck(body: Body, seen: GroupSeen) -> Mapping[Partition, Still]:
    """What the status says was stuck, where it still is where it was."""
    told = {}
    for each in (body.get("status") or {}).get("stuckPartitions") or ():
        partition = each["topic"], each["partition"]
        if partition in seen.ranges and seen.committed.get(partition, -1) == each["committed"]:
            told[partition] = Still(seen.position(partition), time_ms(each["since"]))
    return told


def group_id_of(body: Body) -> str:
    return str(body["spec"].get("groupId") or body["metadata"]["name"])
