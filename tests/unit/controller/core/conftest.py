"""A machine in memory: decisions are applied at once, and every step checks the invariants."""

from collections.abc import Sequence
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.features import SUPPORTED_RANGES
from millstream_cluster.ids import NO_EPOCH
from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import Heartbeat, Registered, Registration, fence, heartbeat, register
from millstream_controller.core.partitions.isr_changes import Proposal, Proposals, alter_partitions
from millstream_controller.core.settings import Settings
from millstream_controller.core.takeover import NewCluster, take_over
from millstream_controller.core.topics.new_topics import CreatedTopic, NewTopic, create_topics
from millstream_wire.errors import ErrorCode

T = TypeVar("T")
CLUSTER = "test-cluster"


class Cluster:
    """The machine with an already elected controller."""

    def __init__(self, **settings: Any) -> None:
        self.machine = ControllerMachine(Settings(**settings), Image())
        self.history: list[r.MetadataRecord] = []
        self._ids = count(1)
        self.do(
            take_over(self.machine, 20_000, host="c", port=9093, cluster_id=None, new_cluster=NewCluster(CLUSTER)),
        )

    @property
    def image(self) -> Image:
        return self.machine.image

    def do(self, decision: Decision[r.MetadataRecord, T]) -> T:
        for record in decision.records:
            self.machine.apply(record)
            self.history.append(record)
        for change in decision.then:
            change.make(self.machine)
        self.machine.check()
        return decision.reply

    def new_id(self) -> UUID:
        return UUID(int=next(self._ids))

    def register(
        self,
        node_id: int,
        *,
        disk: int = 0,
        port: int = 9092,
        live: bool = True,
        clean: bool = False,
        beat: bool = True,
    ) -> int:
        """Register and unfence; the broker epoch. `clean`: with the proof that the life before ended so."""
        registered = self.enter(node_id, disk=disk, port=port, live=live, clean=clean)
        assert registered.outcome.error == 0, registered
        if beat:
            assert not self.beat(node_id).fenced
        return registered.broker_epoch

    def enter(
        self, node_id: int, *, disk: int = 0, port: int = 9092, live: bool = True, clean: bool = False
    ) -> Registered:
        before = self.image.node(node_id)
        wanted = Registration(
            node_id,
            CLUSTER,
            UUID(int=node_id * 100 + disk),
            (r.Endpoint("P", "h", port),),
            None,
            features=SUPPORTED_RANGES,
            previous_epoch=before.epoch if clean and before is not None else NO_EPOCH,
        )
        return self.do(register(self.machine, wanted, session_live=live))

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

    def fence(self, node_id: int) -> None:
        """Its session ends."""
        node = self.image.node(node_id)
        assert node is not None
        self.do(Decision(fence(self.machine, node, r.FenceReason.SILENT), None))

    def propose(
        self,
        topic: str,
        isr: Sequence[int],
        partition: int = 0,
        recovery: int = 0,
        *,
        resigns: bool = False,
        **stale: int,
    ) -> ErrorCode:
        """The leader proposes this ISR from the present state, but for what is `stale`; the verdict."""
        before = self.image.partition(topic, partition)
        assert before is not None
        leader = stale.get("leader", before.leader)
        proposal = Proposal(
            before.topic_id,
            partition,
            stale.get("leader_epoch", before.leader_epoch),
            stale.get("partition_epoch", before.partition_epoch),
            tuple((member, stale.get("member_epoch", NO_EPOCH)) for member in isr),
            recovery,
            resigns,
        )
        node = self.image.node(leader)
        epoch = NO_EPOCH if node is None else node.epoch
        judged = self.do(alter_partitions(self.machine, Proposals(leader, epoch, (proposal,))))
        return judged.verdicts[0].error if judged.verdicts else judged.error

    def partition(self, topic: str = "t", number: int = 0) -> Partition:
        found = self.image.partition(topic, number)
        assert found is not None
        return found

    def create(self, *topics: NewTopic, validate_only: bool = False) -> dict[str, CreatedTopic]:
        created = self.do(create_topics(self.machine, topics, validate_only=validate_only, new_id=self.new_id))
        return {topic.name: topic for topic in created}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def new_cluster() -> type[Cluster]:
    return Cluster
