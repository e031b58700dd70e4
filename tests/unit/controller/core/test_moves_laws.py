"""What was acknowledged stays, whatever moves: reassignments, cancels, healing and brokers that come and go, in any order.

Copies are modelled by how many records each broker has. A record is acknowledged when everybody in the ISR has it and they are as
many as min.insync.replicas asks for; who follows copies its leader, and who is no replica any more has nothing.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_controller.core.partitions.reassignments import Move, alter_reassignments
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_controller.core.upkeep import Now, SoftState, keep_up
from millstream_wire.errors import ErrorCode

BROKERS = range(1, 6)
MIN_ISR = 2
brokers = st.sampled_from(BROKERS)
assignments = st.lists(brokers, min_size=1, max_size=4, unique=True)


class MoveLaws(RuleBasedStateMachine):
    def __init__(self, new_cluster) -> None:
        super().__init__()
        self.cluster = new_cluster()
        for node in BROKERS:
            self.cluster.register(node)
        configs = (("min.insync.replicas", str(MIN_ISR)),)
        self.cluster.create(NewTopic("t", assignments=((0, (1, 2, 3)),), configs=configs))
        self.soft = SoftState.new(self.cluster.machine.settings)
        self.copies = dict.fromkeys((1, 2, 3), 0)
        self.acknowledged = 0
        self.original = {1, 2, 3}
        self.now_ms = 0

    @property
    def partition(self) -> Partition:
        return self.cluster.partition()

    def fenced(self, node: int) -> bool:
        return self.cluster.image.node(node).fenced

    @rule()
    def write(self) -> None:
        partition = self.partition
        if not partition.online:
            return
        self.copies[partition.leader] += 1
        if len(partition.isr) >= min(MIN_ISR, len(partition.replicas)):
            for member in partition.isr:
                self.copies[member] = self.copies[partition.leader]
            self.acknowledged = self.copies[partition.leader]

    @rule(node=brokers)
    def catch_up(self, node: int) -> None:
        partition = self.partition
        if partition.online and node in partition.replicas and not self.fenced(node):
            self.copies[node] = self.copies[partition.leader]
            if len(partition.isr) >= min(MIN_ISR, len(partition.replicas)):
                # nothing was written since that is not acknowledged, or it is now
                for member in partition.isr:
                    self.copies[member] = self.copies[partition.leader]
                self.acknowledged = self.copies[partition.leader]
            if node not in partition.isr:
                self.cluster.propose("t", (*partition.isr, node))

    @rule(node=brokers)
    def fall_behind(self, node: int) -> None:
        partition = self.partition
        if partition.online and node in partition.isr and node != partition.leader:
            self.cluster.propose("t", tuple(member for member in partition.isr if member != node))

    @rule(node=brokers)
    def stop(self, node: int) -> None:
        if not self.fenced(node):
            self.cluster.fence(node)

    @rule(node=brokers)
    def come_back(self, node: int) -> None:
        if self.fenced(node):
            self.cluster.register(node, clean=True)

    @rule(replicas=assignments)
    def move(self, replicas: list[int]) -> None:
        self.alter(tuple(replicas))

    @rule()
    def cancel(self) -> None:
        before = self.partition
        error = self.alter(None)
        assert (error == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS) is not is_moving(before)
        if error == ErrorCode.NONE:
            after = self.partition
            assert set(after.replicas) - set(after.removing_replicas) == self.original
            assert len(electable(after)) >= min(len(electable(before)), MIN_ISR, len(self.original))

    @rule(minutes=st.sampled_from([1, 11]), takeover=st.booleans())
    def time_passes(self, minutes: int, takeover: bool) -> None:
        if takeover:
            self.soft = SoftState.new(self.cluster.machine.settings)
        for _ in range(minutes):
            self.now_ms += 60_000
            for node in self.cluster.image.brokers.values():
                self.soft.sessions.heard(node, self.now_ms)
            steps = 0
            now = Now(self.now_ms, self.now_ms)
            while self.cluster.do(keep_up(self.cluster.machine, self.soft, now)):
                steps += 1
                assert steps < 20, "upkeep does not come to rest"

    def note_original(self) -> None:
        """The replicas as they were when the present move began."""
        if not is_moving(self.partition):
            self.original = set(self.partition.replicas)

    def alter(self, target: tuple[int, ...] | None) -> ErrorCode:
        wanted = [Move("t", 0, target)]
        (outcome,) = self.cluster.do(alter_reassignments(self.cluster.machine, wanted, may_change_factor=True))
        return ErrorCode(outcome.error)

    @invariant()
    def only_replicas_have_copies(self) -> None:
        self.note_original()
        self.copies = {node: self.copies.get(node, 0) for node in self.partition.replicas}

    @invariant()
    def what_was_acknowledged_is_there(self) -> None:
        partition = self.partition
        if partition.online:
            assert self.copies[partition.leader] >= self.acknowledged, partition
        whole = [node for node in partition.replicas if self.copies[node] >= self.acknowledged]
        assert whole, "the last copy is gone"
        assert electable(partition) or not partition.online
        assert electable(partition) <= set(whole), "who may be elected cleanly has everything"

    @invariant()
    def a_move_that_could_end_has_ended(self) -> None:
        partition = self.partition
        if is_moving(partition):
            target = set(partition.replicas) - set(partition.removing_replicas)
            assert not target <= set(partition.isr)
            assert target

    @invariant()
    def a_snapshot_is_the_live_state(self) -> None:
        image = self.cluster.image
        assert Image.of(image.records(), image.offset) == image


def is_moving(partition: Partition) -> bool:
    return bool(partition.adding_replicas or partition.removing_replicas)


def electable(partition: Partition) -> set[int]:
    """Who may lead without losing anything."""
    return {*partition.isr, *partition.eligible_leader_replicas}


def test_what_was_acknowledged_stays_whatever_moves(new_cluster) -> None:
    run_state_machine_as_test(
        lambda: MoveLaws(new_cluster), settings=settings(max_examples=100, stateful_step_count=25, deadline=None)
    )
