"""What the simulation's clients make of metadata, as real ones do."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_simulation.client import KafkaClient
from millstream_wire.messages import MetadataResponse
from millstream_wire.messages.metadata import (
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NODES = [MetadataResponseBroker(node_id=node, host=f"broker-{node}", port=9092) for node in (1, 2)]


def metadata(leader: int, epoch: int, *, topic_id: int = 7, isr: Sequence[int] = (1, 2)) -> MetadataResponse:
    partition = MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=epoch, isr_nodes=list(isr))
    topic = MetadataResponseTopic(name="t", topic_id=UUID(int=topic_id), partitions=[partition])
    return MetadataResponse(brokers=NODES, topics=[topic])


class Told(KafkaClient):
    """Brokers answer it with these, one after the other."""

    def __init__(self, *answers: MetadataResponse) -> None:
        network = SimulatedNetwork(random.Random(1), Conditions())
        super().__init__(SimulatedWorld(network, "client", random.Random(1)), [("broker-1", 9092)], "client", "t")
        self._answers = list(answers)

    async def _anybody(self, request: Any) -> Any:
        return self._answers.pop(0)


def leaders(client: Told, times: int) -> list[str]:
    """Whom it would ask after each answer."""

    async def learn() -> list[str]:
        found = []
        for _ in range(times):
            await client.refresh()
            place = client._leader(0)
            found.append("nobody" if place is None else f"{place[0]} of {client.leader_epoch(0)}")
        return found

    return asyncio.run(learn())


def test_a_leader_of_an_earlier_epoch_is_not_believed() -> None:
    """Seeds 77 and 117: a deposed leader that was cut off got a batch that only the next one could place."""
    client = Told(metadata(2, 4), metadata(1, 3), metadata(2, 4), metadata(1, 5))
    assert leaders(client, 4) == ["broker-2 of 4", "broker-2 of 4", "broker-2 of 4", "broker-1 of 5"]


def test_a_topic_that_was_created_again_has_epochs_of_its_own() -> None:
    client = Told(metadata(2, 4), metadata(1, 0, topic_id=8))
    assert leaders(client, 2) == ["broker-2 of 4", "broker-1 of 0"]


def test_nobody_is_asked_while_there_is_no_leader() -> None:
    client = Told(metadata(2, 4), metadata(-1, 5), metadata(2, 4))
    assert leaders(client, 3) == ["broker-2 of 4", "nobody", "nobody"]


def test_whoever_did_not_serve_is_asked_only_after_another_answer() -> None:
    client = Told(metadata(2, 4), metadata(1, 3))
    leaders(client, 1)
    client._doubted.add(0)
    assert client._leader(0) is None
    asyncio.run(client.expect_leader(0))
    assert client._leader(0) == ("broker-2", 9092)
