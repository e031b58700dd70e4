"""The metadata log in a real API server: what the store promises, with controllers of this process beside the cluster."""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream_cluster.ids import ProducerId
from millstream_cluster.metadata_version import NEWEST
from millstream_cluster.records import ProducerIdsAllocated
from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_controller.shell.batches import encode_records
from millstream_controller.shell.kubernetes_api import KubernetesApi
from millstream_controller.shell.kubernetes_store import CHUNK_BYTES, KubernetesStore
from millstream_controller.shell.store import Fenced, Snapshot
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.properties import Properties
from millstream_runtime.world import RealWorld

NAMESPACE = "millstream-store"
CRD = Path(__file__).resolve().parents[2] / "charts/millstream/crds/metadataslots.yaml"
CRD_NAME = "customresourcedefinition/metadataslots.millstream.dev"


def kubectl(*words: str, check: bool = True) -> str:
    done = subprocess.run(["kubectl", *words], capture_output=True, text=True, timeout=60, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def namespace() -> Iterator[None]:
    """A namespace with the slots' CRD, which is left as it was found."""
    had_crd = bool(kubectl("get", CRD_NAME, "--ignore-not-found"))
    kubectl("apply", "-f", str(CRD))
    # Right after it is applied it has no conditions at all, which `kubectl wait` does not wait for.
    kubectl("wait", "--for=jsonpath={.status.acceptedNames.kind}=MetadataSlot", CRD_NAME)
    kubectl("wait", "--for=condition=Established", CRD_NAME)
    kubectl("create", "namespace", NAMESPACE)
    # A new kind's storage answers 429 for a moment; kubectl waits and tries again, a store's first load would say "away".
    kubectl("get", "metadataslots", "-n", NAMESPACE)
    yield
    kubectl("delete", "metadataslots", "--all", "-n", NAMESPACE)
    kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    if not had_crd:
        kubectl("delete", CRD_NAME)


@pytest.fixture
def world() -> RealWorld:
    return RealWorld(SocketNetwork())


async def store_of(world: RealWorld, cluster: str, writer: str) -> KubernetesStore:
    api = await KubernetesApi.connect(namespace=NAMESPACE, cluster=cluster)
    return KubernetesStore(api, world, namespace=NAMESPACE, cluster=cluster, writer=writer)


def batch_at(offset: int) -> bytes:
    fact = ProducerIdsAllocated(ProducerId(offset + 1))
    return encode_records([fact], level=NEWEST, base_offset=offset, epoch=1, timestamp_ms=0, writer="w")


def test_appends_go_round_the_ring_and_a_sleeper_is_fenced(world: RealWorld) -> None:
    async def scenario() -> None:
        sleeper = await store_of(world, "ring", "sleeper0")
        store = await store_of(world, "ring", "writer00")
        assert (await sleeper.load()).batches == ()
        await sleeper.append(batch_at(0))
        await store.load()
        began = time.perf_counter()
        for offset in range(1, 150):
            if store.wants_snapshot:
                await store.save_snapshot(Snapshot(offset, 1, b"x" * (CHUNK_BYTES + 1)))
            await store.append(batch_at(offset))
            await store.verify()
        print(f"append and verify: {(time.perf_counter() - began) / 149 * 1000:.1f} ms")
        with pytest.raises(Fenced):
            await sleeper.verify()
        await sleeper.load()
        await sleeper.append(batch_at(150))
        with pytest.raises(Fenced):
            await store.append(batch_at(150))
        loaded = await store.load()
        assert loaded.snapshot is not None
        assert len(loaded.snapshot.data) == CHUNK_BYTES + 1
        assert loaded.batches == tuple(batch_at(offset) for offset in range(loaded.snapshot.end_offset, 151))
        await store.append(batch_at(151))
        await store.tidy()
        assert len(await store._objects.list("snapshot")) == 2
        await sleeper.close()
        await store.close()

    asyncio.run(scenario())


def test_the_largest_append_fits(world: RealWorld) -> None:
    async def scenario() -> None:
        store = await store_of(world, "large", "writer00")
        await store.load()
        await store.append(b"\xff" * CHUNK_BYTES)
        await store.close()

    asyncio.run(scenario())


def test_a_standby_takes_over_from_a_controller_that_is_gone(world: RealWorld) -> None:
    def controller(number: int) -> ControllerApp:
        properties = {
            "node.id": str(number),
            "listeners": "CONTROLLER://127.0.0.1:0",
            "controller.store": f"kubernetes:{NAMESPACE}/takeover",
            "controller.takeover.timeout.ms": "1000",
        }
        return ControllerApp(ControllerConfig.from_properties(Properties(properties)), world)

    async def scenario() -> None:
        first, second = controller(0), controller(1)
        running = asyncio.create_task(first.run())
        await first.ready.wait()
        standby = asyncio.create_task(second.run())
        await second.ready.wait()
        assert first.health().detail == "active in epoch 1"
        assert second.health().detail == "standby of controller 20000"
        running.cancel()
        await asyncio.wait([running])
        async with asyncio.timeout(20):
            while second.health().detail != "active in epoch 2":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        standby.cancel()
        await asyncio.wait([standby])

    asyncio.run(scenario())
