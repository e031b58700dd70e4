"""Who asks in the moment in which a broker dies is told who leads from then on, by whichever node it asks."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from millstream.processes import plan_processes
from millstream.roles import Role
from millstream_controller.shell.open_store import open_store
from millstream_runtime.nodes.client import Client
from millstream_runtime.simulated.clock import Clock
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_simulation.host import Host
from millstream_simulation.stage import Stage, until_done
from millstream_simulation.story import Story
from millstream_wire.messages import FindCoordinatorRequest, MetadataRequest
from millstream_wire.messages.metadata import MetadataRequestTopic

COUNTS = {Role.BROKER: 3, Role.CONTROLLER: 1, Role.COORDINATOR: 1}
TOPIC = "orders"
NEWS_MS = 50
"""So much later than that a connection broke the node that is asked hears who leads from then on."""


class Cluster:
    """Processes of their own under virtual time, over a network in which nothing is slow."""

    def __init__(self, directory: Path) -> None:
        story = Story(asyncio.get_running_loop().time)
        self.network = network = SimulatedNetwork(random.Random(1), Conditions(slow_probability=0.0))
        settings = {"default.replication.factor": "3", "offsets.topic.num.partitions": "6"}
        planned = plan_processes(COUNTS, range(9092, 9102), directory, settings, host_of=lambda name: name)
        self.hosts = {
            each.name: Host(each, network, 1, story, lambda name, error: None, open_store, Clock()) for each in planned
        }
        brokers = [(each.host, each.port) for each in planned if each.role is Role.BROKER]
        self.admin = Stage(1, network, brokers, story).client("admin", TOPIC)
        self.world = Stage(1, network, brokers, story).world("client")

    async def start(self) -> None:
        for host in self.hosts.values():
            host.start()
        await until_done(self.admin.expect_nodes, COUNTS[Role.BROKER] + COUNTS[Role.COORDINATOR])
        await until_done(self.admin.create_topic, 1)

    async def client(self, name: str) -> Client:
        return await Client.connect(self.world, *self.hosts[name].address, client_id="client")

    async def close(self) -> None:
        await self.admin.close()
        for host in self.hosts.values():
            if host.up:
                await host.kill()


async def leader(client: Client) -> int:
    topics = [MetadataRequestTopic(name=TOPIC)]
    answer: Any = await client.request(MetadataRequest(topics=topics), timeout_ms=5_000)
    return int(answer.topics[0].partitions[0].leader_id)


@pytest.mark.parametrize("kind", ["broker", "coordinator"])
def test_nobody_names_a_leader_that_has_just_died(tmp_path: Path, kind: str) -> None:
    async def scenario() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        number = await leader(await cluster.client("coordinator-1"))
        name = "coordinator-1" if kind == "coordinator" else f"broker-{1 + number % 3}"
        asked = await cluster.client(name)
        # A coordinator writes to the leaders of its shards, and so is connected to each broker.
        await (await cluster.client("broker-1")).request(
            FindCoordinatorRequest(coordinator_keys=["g"]), timeout_ms=5_000
        )
        await asyncio.sleep(2)
        cluster.network.links["controller-1", name] = Conditions(delay_ms=(NEWS_MS, NEWS_MS), slow_probability=0.0)
        await cluster.hosts[f"broker-{number}"].kill()
        await asyncio.sleep(NEWS_MS / 5 / 1000)
        assert await leader(asked) not in (number, -1)
        await cluster.close()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario())
