"""Following the metadata, from small controllers that misbehave on request."""

import asyncio
import random
from uuid import UUID

import pytest
from small_controllers import Controller, link_of, start

from millstream_cluster.ids import NodeId
from millstream_cluster.image import Image
from millstream_cluster.records import (
    ClusterCreated,
    ControllerElected,
    MetadataRecord,
    TopicCreated,
)
from millstream_runtime.nodes.follower import MetadataDiverged, MetadataFollower


def records(count: int, prefix: str = "topic") -> list[MetadataRecord]:
    head: list[MetadataRecord] = [ClusterCreated("c"), ControllerElected(NodeId(20_000), 1, "h", 1)]  # type: ignore[arg-type]
    topics = [TopicCreated(f"{prefix}-{n}", UUID(int=n + 10), False) for n in range(count)]
    return [*head, *topics]


class Followed:
    def __init__(self, hosts, addresses) -> None:
        self.seen: list[MetadataRecord] = []
        self.follower = MetadataFollower(
            hosts.world("node"), link_of(hosts, addresses), node_id=1, on_records=self._note, max_wait_ms=200
        )

    def _note(self, image: Image, fresh) -> None:
        assert image is self.follower.image
        self.seen += fresh


def test_a_follower_applies_what_is_there_and_what_comes(simulated_hosts) -> None:
    async def scenario() -> None:
        controller = Controller()
        controller.log = records(2)
        followed = Followed(simulated_hosts, await start(simulated_hosts, controller))
        running = asyncio.create_task(followed.follower.run())
        await followed.follower.caught_up.wait()
        assert sorted(followed.follower.image.topics) == ["topic-0", "topic-1"]
        controller.log = records(5)
        await followed.follower.wait_for(6)
        assert followed.seen == controller.log
        assert followed.follower.image == Image.of(controller.log, 6)
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


def test_a_follower_behind_the_log_s_start_loads_the_snapshot(simulated_hosts) -> None:
    async def scenario() -> None:
        controller = Controller()
        controller.log, controller.log_start = records(5), 4
        followed = Followed(simulated_hosts, await start(simulated_hosts, controller))
        running = asyncio.create_task(followed.follower.run())
        await followed.follower.caught_up.wait()
        assert followed.follower.image == Image.of(controller.log, 6)
        assert followed.seen == controller.log
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


def test_a_log_that_went_back_or_does_not_fit_stops_the_follower(simulated_hosts) -> None:
    async def scenario() -> None:
        controller = Controller()
        controller.log = records(5)
        addresses = await start(simulated_hosts, controller)
        followed = Followed(simulated_hosts, addresses)
        running = asyncio.create_task(followed.follower.run())
        await followed.follower.wait_for(6)
        controller.log = records(3)
        with pytest.raises(MetadataDiverged, match="has less"):
            await running
        controller.log = [*records(3), TopicCreated("topic-0", UUID(int=99), False)]
        with pytest.raises(MetadataDiverged, match="the name is taken"):
            await Followed(simulated_hosts, addresses).follower.run()

    simulated_hosts.run(scenario())


def test_a_follower_survives_a_hostile_network(simulated_hosts) -> None:
    async def scenario() -> None:
        controllers = [Controller(active=False), Controller()]
        addresses = await start(simulated_hosts, *controllers)
        followed = Followed(simulated_hosts, addresses)
        running = asyncio.create_task(followed.follower.run())
        simulated_hosts.network.conditions.break_probability = 0.1
        rng = random.Random(5)
        for count in range(1, 30):
            for controller in controllers:
                controller.log = records(count)
            if rng.random() < 0.3:
                for controller in controllers:
                    controller.active = not controller.active
            await asyncio.sleep(rng.uniform(0, 1))
        await followed.follower.wait_for(30)
        assert followed.seen == records(29)
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())
