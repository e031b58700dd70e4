"""A machine in memory: decisions are applied at once, and every step checks the invariants."""

from itertools import count
from typing import Any, TypeVar
from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.features import SUPPORTED_RANGES
from millstream_cluster.image import Image
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import Heartbeat, Registration, heartbeat, register
from millstream_controller.core.settings import Settings
from millstream_controller.core.takeover import take_over
from millstream_controller.core.topics.new_topics import CreatedTopic, NewTopic, create_topics

T = TypeVar("T")
CLUSTER = "test-cluster"


class Cluster:
    """The machine with an already elected controller."""

    def __init__(self, **settings: Any) -> None:
        self.machine = ControllerMachine(Settings(**settings), Image())
        self.history: list[r.MetadataRecord] = []
        self._ids = count(1)
        self.do(
            take_over(self.machine, 20_000, host="c", port=9093, cluster_id=None, new_cluster_id=CLUSTER),
        )

    @property
    def image(self) -> Image:
        return self.machine.image

    def do(self, decision: Decision[r.MetadataRecord, T]) -> T:
        for record in decision.records:
            self.machine.apply(record)
            self.history.append(record)
        self.machine.check()
        return decision.reply

    def new_id(self) -> UUID:
        return UUID(int=next(self._ids))

    def register(self, node_id: int, *, disk: int = 0, port: int = 9092, live: bool = True) -> int:
        """Register and unfence; the broker epoch."""
        wanted = Registration(
            node_id,
            CLUSTER,
            UUID(int=node_id * 100 + disk),
            (r.Endpoint("P", "h", port),),
            None,
            features=SUPPORTED_RANGES,
        )
        registered = self.do(register(self.machine, wanted, session_live=live))
        assert registered.outcome.error == 0, registered
        epoch = registered.broker_epoch
        assert not self.beat(node_id).fenced
        return epoch

    def beat(self, node_id: int, **wishes: bool) -> Any:
        node = self.image.node(node_id)
        assert node is not None
        beat = Heartbeat(
            node_id,
            node.epoch,
            self.image.offset,
            wishes.get("want_fence", False),
            wishes.get("want_shut_down", False),
        )
        return self.do(heartbeat(self.machine, beat))

    def create(self, *topics: NewTopic, validate_only: bool = False) -> dict[str, CreatedTopic]:
        created = self.do(create_topics(self.machine, topics, validate_only=validate_only, new_id=self.new_id))
        return {topic.name: topic for topic in created}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def new_cluster() -> type[Cluster]:
    return Cluster
