"""All resources are looked at again and again, in virtual time."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from millstream_operator.kube.objects import KubernetesError, Objects
from millstream_operator.metrics import OperatorMetrics
from millstream_operator.reconcile.certificates import Certificates
from millstream_operator.reconcile.connections import Connections
from millstream_operator.reconcile.resource import ClustersRead, Surroundings
from millstream_operator.reconcile.resync import INTERVAL_MS, Reconcilers
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld

TOPICS, GROUPS = 200, 50
WRITE_S = 1
LOOKED_S = 100


class ApiServer(Objects):
    """It has Topics and groups of a Cluster that is gone, and takes a while to write what a Topic is told."""

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self._items = {
            "topics": [body(f"topic-{number:03}", {"partitions": 1}) for number in range(TOPICS)],
            "consumergroups": [body(f"group-{number:03}", {}) for number in range(GROUPS)],
        }
        self.groups_listed_ms: list[int] = []

    async def call(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        plural, _, name = path.partition("/namespaces/n/")[2].partition("/")
        if method == "GET" and plural == "clusters" and name:
            raise KubernetesError(404, "gone", "NotFound")
        if method == "GET":
            if plural == "consumergroups":
                self.groups_listed_ms.append(self._world.monotonic_ms())
            return {"items": self._items.get(plural, [])}
        if plural == "topics":
            await asyncio.sleep(WRITE_S)
        return next((each for each in self._items.get(plural, []) if name.startswith(each["metadata"]["name"])), {})


def body(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": metadata | {"generation": 1}, "spec": {"clusterRef": {"name": "gone"}, **spec}}


async def looks_at_groups_ms() -> list[int]:
    """When the operator looked at the groups, of a few minutes."""
    world = SimulatedWorld(SimulatedNetwork(random.Random(1), Conditions()), "operator", random.Random(2))
    server = ApiServer(world)
    certificates = Certificates(world, server)
    around = Surroundings(
        world=world,
        objects=server,
        clusters=ClustersRead(world, server),
        namespaces=("n",),
        operator_namespace="n",
        certificates=certificates,
        connections=Connections(world, certificates),
    )
    running = asyncio.create_task(Reconcilers(around, OperatorMetrics(world.monotonic_ms)).run())
    await asyncio.sleep(LOOKED_S)
    running.cancel()
    await asyncio.wait([running])
    return server.groups_listed_ms


def test_topics_that_take_long_keep_no_group_waiting(caplog: pytest.LogCaptureFixture) -> None:
    """A look at all of them takes half a minute here, and a group's lag is to be true within fifteen seconds."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        looks_ms = runner.run(looks_at_groups_ms())
    assert "reconcile failed" not in caplog.text
    assert max(after - before for before, after in pairwise(looks_ms)) <= INTERVAL_MS
