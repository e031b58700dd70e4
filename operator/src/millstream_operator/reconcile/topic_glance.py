"""One glance at all declared topics of a cluster, shared by whoever comes within a moment; so is that nobody answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from millstream_operator.kafka import topics
from millstream_operator.kafka.cluster import ClusterUnreachable, KafkaCluster, Refused
from millstream_operator.plan.scope import Body, cluster_key
from millstream_operator.plan.topic import wanted_topic
from millstream_operator.reconcile.resource import Turns
from millstream_runtime.world import World

GLANCE_AGAIN_MS = 3_000
"""How old what is known of all topics may be, for a look that leads to nothing."""


@dataclass(frozen=True, slots=True)
class _Failure:
    read_ms: int
    """When it was known, which may be long after it was asked."""
    error: ClusterUnreachable | Refused


class TopicGlances:
    def __init__(self, world: World) -> None:
        self._world = world
        self._found: WeakKeyDictionary[KafkaCluster, topics.Glance | _Failure] = WeakKeyDictionary()
        self._turns = Turns()

    async def at(self, kafka: KafkaCluster, cluster: Body, siblings: Sequence[Body]) -> topics.Glance:
        """Whoever looks first looks for the others of the same cluster. Raises ClusterUnreachable, Refused."""
        async with self._turns.of(cluster):
            found, now_ms = self._found.get(kafka), self._world.monotonic_ms()
            if found is None or now_ms - found.read_ms >= GLANCE_AGAIN_MS:
                found = self._found[kafka] = await self._look(kafka, cluster, siblings, now_ms)
        if isinstance(found, _Failure):
            raise found.error.with_traceback(None)
        return found

    async def _look(
        self, kafka: KafkaCluster, cluster: Body, siblings: Sequence[Body], now_ms: int
    ) -> topics.Glance | _Failure:
        key = cluster["metadata"]["namespace"], cluster["metadata"]["name"]
        mine = (each for each in siblings if cluster_key(each) == key)
        wanted = (wanted_topic(body["metadata"]["name"], body["spec"]) for body in mine)
        declared = {each.name: None if each.is_strict else sorted(each.enforced) for each in wanted}
        try:
            return await topics.glance_at(kafka, declared, now_ms)
        except (ClusterUnreachable, Refused) as error:
            return _Failure(self._world.monotonic_ms(), error)
