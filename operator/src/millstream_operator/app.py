"""The operator as a service: watches, the regular look at everything, and whether both are alive."""

import asyncio
import logging

import kopf

from millstream_operator.config import OperatorConfig
from millstream_operator.handlers.watch import register
from millstream_operator.kube.objects import Objects, connect
from millstream_operator.metrics import OperatorMetrics
from millstream_operator.reconcile.certificates import Certificates
from millstream_operator.reconcile.connections import Connections
from millstream_operator.reconcile.resource import ClustersRead, Surroundings
from millstream_operator.reconcile.resync import Reconcilers
from millstream_runtime.service import Health
from millstream_runtime.world import World

logger = logging.getLogger(__name__)


class OperatorApp:
    name = "operator"

    def __init__(self, world: World, config: OperatorConfig) -> None:
        self._world = world
        self._config = config
        self._reconcilers: Reconcilers | None = None
        self._metrics = OperatorMetrics(world.monotonic_ms)
        world.metrics.register(self._metrics)
        self.ready = asyncio.Event()
        self.listeners: dict[str, tuple[str, int]] = {}

    async def run(self) -> None:
        async with connect() as objects:
            around = self._surroundings(objects)
            self._reconcilers = reconcilers = Reconcilers(around, self._metrics)
            registry = kopf.OperatorRegistry()
            register(registry, reconcilers)
            try:
                async with asyncio.TaskGroup() as tasks:
                    looking = tasks.create_task(reconcilers.run())
                    await self._watch(registry)
                    looking.cancel()
            finally:
                await around.connections.close()

    async def _watch(self, registry: kopf.OperatorRegistry) -> None:
        # No peering: two operators at once would only repeat each other, since every step is planned anew.
        await kopf.operator(
            registry=registry, namespaces=self._config.watch_namespaces, standalone=True, ready_flag=self.ready
        )

    def _surroundings(self, objects: Objects) -> Surroundings:
        certificates = Certificates(self._world, objects)
        return Surroundings(
            world=self._world,
            objects=objects,
            clusters=ClustersRead(self._world, objects),
            namespaces=self._config.watch_namespaces,
            operator_namespace=self._config.namespace,
            certificates=certificates,
            connections=Connections(self._world, certificates),
        )

    def health(self) -> Health:
        if self._reconcilers is not None and self._reconcilers.silent:
            return Health(healthy=False, ready=False, detail="the API server has not answered for a while")
        return Health(healthy=True, ready=self.ready.is_set())
