"""The laws of the controller's state under arbitrary commands: replay, snapshots, invariants, bounded upkeep."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from millstream_cluster.coordinator_topics import CoordinatorTopic, CoordinatorTopics
from millstream_cluster.ids import NO_NODE
from millstream_cluster.image import Image
from millstream_cluster.records import ResourceType
from millstream_controller.core.altered_configs import Change, Resource, alter_incrementally
from millstream_controller.core.nodes.nodes import unregister
from millstream_controller.core.partitions.new_partitions import Growth, create_partitions
from millstream_controller.core.shards import claim
from millstream_controller.core.topics.deleted_topics import TopicRef, delete_topics
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_controller.core.upkeep import Now, SoftState, keep_up

SESSION_MS = 9_000
FORGET_MS = 300_000
brokers = st.integers(0, 3)
members = st.one_of(brokers, st.integers(10_000, 10_002))
names = st.sampled_from(["a", "b", "c", "__consumer_offsets"])


class ControllerLaws(RuleBasedStateMachine):
    def __init__(self, new_cluster) -> None:
        super().__init__()
        self.cluster = new_cluster(coordinator_topics=CoordinatorTopics(offsets=CoordinatorTopic(partitions=3)))
        self.soft = SoftState.new(self.cluster.machine.settings)
        self.sessions = self.soft.sessions
        self.now = 0
        self.disks: dict[int, int] = {}
        self.lost: set[tuple[object, int]] = set()

    @rule(node=members, new_disk=st.booleans())
    def come(self, node: int, new_disk: bool) -> None:
        disk = self.disks.get(node, 0) + new_disk
        if new_disk and node < 10_000:
            self.lost |= {(p.topic_id, p.partition) for p in self.cluster.image.partitions() if p.isr == (node,)}
        self.disks[node] = disk
        self.cluster.register(node, disk=disk)
        self.sessions.heard(self.cluster.image.node(node), self.now)

    @rule(node=members)
    def beat(self, node: int) -> None:
        if self.cluster.image.node(node) is not None:
            self.cluster.beat(node)
            self.sessions.heard(self.cluster.image.node(node), self.now)

    @rule(node=members)
    def leave(self, node: int) -> None:
        if self.cluster.image.node(node) is not None:
            assert self.cluster.beat(node, want_shut_down=True).should_shut_down

    @rule(node=members)
    def forget(self, node: int) -> None:
        self.cluster.do(unregister(self.cluster.machine, node))

    @rule(name=names, partitions=st.integers(1, 4))
    def create(self, name: str, partitions: int) -> None:
        self.cluster.create(NewTopic(name, partitions, 1))

    @rule(name=names)
    def delete(self, name: str) -> None:
        self.cluster.do(delete_topics(self.cluster.machine, [TopicRef(name, None)]))

    @rule(name=names, count=st.integers(1, 6))
    def grow(self, name: str, count: int) -> None:
        self.cluster.do(create_partitions(self.cluster.machine, [Growth(name, count)], validate_only=False))

    @rule(name=names, value=st.sampled_from(["1", "2", "x"]), operation=st.integers(0, 3))
    def alter(self, name: str, value: str, operation: int) -> None:
        resource = Resource(ResourceType.TOPIC, name)
        change = Change("retention.ms", operation, value)
        self.cluster.do(alter_incrementally(self.cluster.machine, [(resource, (change,))], validate_only=False))

    @rule(partition=st.integers(0, 3))
    def claim(self, partition: int) -> None:
        self.cluster.do(claim(self.cluster.machine, "__consumer_offsets", partition, None))

    @rule(elapsed=st.sampled_from([0, 1_000, SESSION_MS + 1, FORGET_MS + 1]))
    def keep_up(self, elapsed: int) -> None:
        self.now += elapsed
        steps = 0
        while self.cluster.do(keep_up(self.cluster.machine, self.soft, Now(self.now, self.now))):
            steps += 1
            assert steps < 50, "upkeep does not come to rest"
        live = {node.node_id for node in self.cluster.image.nodes.values() if not node.fenced}
        for partition in self.cluster.image.partitions():
            assert partition.online == bool(live & set(partition.isr)), "a partition that could be led is"

    @invariant()
    def replaying_the_records_gives_the_live_state(self) -> None:
        image = Image()
        for offset, record in enumerate(self.cluster.history):
            image.apply(record, offset)
        assert image == self.cluster.image
        assert Image.of(image.records(), image.offset) == image

    @invariant()
    def nobody_leads_what_it_lost(self) -> None:
        for topic_id, number in self.lost:
            partition = self.cluster.image.partition(topic_id, number)
            assert partition is None or (partition.leader == NO_NODE and partition.isr == ())


def test_the_laws_hold_under_arbitrary_commands(new_cluster) -> None:
    run_state_machine_as_test(
        lambda: ControllerLaws(new_cluster), settings=settings(max_examples=60, stateful_step_count=40, deadline=None)
    )
