"""A look at everything, again and again: what a watch missed, what drifted in the cluster, how lag moves."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

from millstream_operator.kube.finalizer import is_held, let_go
from millstream_operator.kube.objects import KubernetesError
from millstream_operator.metrics import OperatorMetrics, Resource
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.scope import Body
from millstream_operator.reconcile.cluster import ClusterReconciler
from millstream_operator.reconcile.consumer_group import ConsumerGroupReconciler
from millstream_operator.reconcile.group_look import GroupLooks, group_id_of
from millstream_operator.reconcile.remains import KeptRemains
from millstream_operator.reconcile.resource import API_VERSION, EXPECTED, Surroundings, write_status
from millstream_operator.reconcile.shared_lists import SharedLists
from millstream_operator.reconcile.topic import TopicReconciler, name_of
from millstream_operator.reconcile.user import UserReconciler, user_name_of

logger = logging.getLogger(__name__)

INTERVAL_MS = 10_000
GROUPS_INTERVAL_MS = 8_000
"""Their lag moves by itself, so only a look tells it: with the time that a look takes it is to be true within 15 s."""
SILENT_MS_MAX = 120_000
AT_ONCE_MAX = 8
"""Of each kind: a thousand Topics do not keep a group waiting."""


class Reconciler(Protocol):
    @property
    def kind(self) -> str: ...
    async def reconcile(self, body: Body, siblings: Sequence[Body]) -> Body | None:
        """The resource as it is after that, where it has been looked at."""


class Reconcilers:
    """All kinds; remembers when it last saw the API server, which is how the process knows that it is well."""

    def __init__(self, around: Surroundings, metrics: OperatorMetrics) -> None:
        self._around = around
        self._metrics = metrics
        self._lists = SharedLists(around.every)
        self._last_success_ms = around.world.monotonic_ms()
        looks = GroupLooks(around)
        self.topics = TopicReconciler(around, looks)
        self.groups = ConsumerGroupReconciler(around, looks, metrics)
        self.users = UserReconciler(around)
        self.by_plural: Mapping[str, Reconciler] = {
            "clusters": ClusterReconciler(around, metrics),
            "topics": self.topics,
            "consumergroups": self.groups,
            "users": self.users,
        }
        self._by_kind = {reconciler.kind: reconciler for reconciler in self.by_plural.values()}
        self._turns = {kind: asyncio.Semaphore(AT_ONCE_MAX) for kind in self._by_kind}
        self._remains = KeptRemains(
            around,
            {
                "Topic": (name_of, self.topics.delete),
                "ConsumerGroup": (group_id_of, self.groups.delete),
                "User": (user_name_of, self.users.delete),
            },
        )

    @property
    def silent(self) -> bool:
        return self._around.world.monotonic_ms() - self._last_success_ms > SILENT_MS_MAX

    def heard_of(self, kind: str, body: Body) -> None:
        """Something of it is another than before, or it is gone: who refers to it reads it again."""
        if kind == "Cluster":
            self._around.clusters.forget(body)

    async def look_at(self, kind: str, body: Body) -> None:
        """It has changed. What cannot be asked now is left to the next look at everything."""
        try:
            siblings = [] if kind == "Cluster" else await self._lists.of(kind)
        except (KubernetesError, OSError) as error:
            logger.warning("changed and not looked at kind=%s name=%s error=%s", kind, body["metadata"]["name"], error)
            return
        await self._reconcile(self._by_kind[kind], body, siblings)

    async def left(self, kind: str, body: Body) -> None:
        """A resource was deleted. What cannot be taken away now is kept, and taken away later."""
        async with self._turns[kind]:
            try:
                await self._remains.left(kind, body)
            except (KubernetesError, OSError, *EXPECTED) as error:
                logger.warning("not deleted yet kind=%s name=%s error=%s", kind, body["metadata"]["name"], error)

    async def look_at_cluster(self, namespace: str, name: str) -> None:
        """Something about its pods has changed."""
        try:
            body = await self._around.objects.get(API_VERSION, "Cluster", namespace, name)
        except (KubernetesError, OSError) as error:
            logger.warning("pods changed and not looked at cluster=%s error=%s", name, error)
            return
        if body is not None:
            await self._reconcile(self._by_kind["Cluster"], body, [])

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for kind in self._by_kind:
                interval_ms = GROUPS_INTERVAL_MS if kind == self.groups.kind else INTERVAL_MS
                tasks.create_task(self._look_again_and_again(kind, interval_ms))

    async def _look_again_and_again(self, kind: str, interval_ms: int) -> None:
        """The interval is from one beginning to the next, and no more than half of the time is spent looking."""
        while True:
            began_ms = self._around.world.monotonic_ms()
            await self._look_at_all(kind)
            took_ms = self._around.world.monotonic_ms() - began_ms
            await asyncio.sleep(max(took_ms, interval_ms - took_ms) / 1000)

    async def _look_at_all(self, kind: str) -> None:
        try:
            bodies = await self._around.every(kind)
        except (KubernetesError, OSError) as error:
            logger.warning("api server unreachable kind=%s error=%s", kind, error)
            return
        self._last_success_ms = self._around.world.monotonic_ms()
        if kind == "Cluster":
            self._around.clusters.saw(bodies)
        self._metrics.keep(kind, (_resource(kind, body) for body in bodies))
        await self._look_for_remains(kind, bodies)
        async with asyncio.TaskGroup() as tasks:
            for body in bodies:
                tasks.create_task(self._reconcile(self._by_kind[kind], body, bodies))

    async def _look_for_remains(self, kind: str, bodies: Sequence[Body]) -> None:
        try:
            await self._remains.look(kind, bodies)
        except (KubernetesError, OSError) as error:
            logger.warning("what resources leave is not known kind=%s error=%s", kind, error)

    async def _reconcile(self, reconciler: Reconciler, body: Body, siblings: Sequence[Body]) -> None:
        """One resource's trouble must not keep the others waiting; it is logged and looked at again next time."""
        resource = _resource(reconciler.kind, body)
        what = resource.kind, resource.namespace, resource.name
        async with self._turns[resource.kind]:
            try:
                await self._look_and_keep(reconciler, body, siblings)
            except (KubernetesError, OSError) as error:
                self._metrics.failed(resource)
                said = str(error) or type(error).__name__
                logger.warning("reconcile failed kind=%s namespace=%s name=%s error=%s", *what, said)
            except Exception:
                self._metrics.failed(resource)
                logger.exception("reconcile failed kind=%s namespace=%s name=%s", *what)
            else:
                self._metrics.succeeded(resource)

    async def _look_and_keep(self, reconciler: Reconciler, body: Body, siblings: Sequence[Body]) -> None:
        kind = reconciler.kind
        if is_held(body):
            await self._remains.keep(kind, body)
            await let_go(self._around.objects, API_VERSION, kind, body)
        trouble = await self._remains.first(kind, body, siblings)
        if trouble is not None:
            await write_status(self._around, kind, body, {}, Condition("Ready", None, "Leaving", trouble))
            return
        looked_at = await reconciler.reconcile(body, siblings)
        if looked_at is not None:
            await self._remains.keep(kind, looked_at)


def _resource(kind: str, body: Body) -> Resource:
    return Resource(kind, body["metadata"]["namespace"], body["metadata"]["name"])
