"""Any course of consumer groups: whatever members, topics, time and restarts do, a partition has one reader at a time, the
log gives the live state, and left in peace everyone ends up with what they should have.
"""

from typing import Any

from consumer_course import Course
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from millstream_coordinator.core.consumer.group import ConsumerGroupState
from millstream_coordinator.core.consumer.limits import ConsumerLimits
from millstream_coordinator.core.group.partitions import Partitions
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_wire.errors import ErrorCode

SLOTS = st.integers(0, 4)
SUBSCRIPTIONS = st.sampled_from([("t",), ("t", "u"), ("u", "v"), ("no-such-topic",)])


class Client:
    """What a consumer does: it goes on reading until it carries out what it was told, and says so with its next heartbeat."""

    def __init__(self, slot: int, life: int) -> None:
        self.member_id = f"m{slot}-{life}"
        self.instance_id = f"i{slot}" if slot > 2 else None
        self.epoch = 0
        self.has: Partitions = frozenset()
        self.told: Partitions = frozenset()
        self.topics: tuple[str, ...] = ("t",)
        self.regex: str | None = None


class ConsumerCourse(RuleBasedStateMachine):
    @initialize(interval_ms=st.sampled_from([0, 1_000]))
    def begin(self, interval_ms: int) -> None:
        limits = ConsumerLimits(session_timeout_ms=10_000, assignment_interval_ms=interval_ms, size_max=4)
        self.course = Course(GroupLimits(consumer=limits))
        for name, partitions in (("t", 3), ("u", 1)):
            self.course.create(name, partitions)
        self.lives = 0
        self.clients: list[Client] = [Client(slot, 0) for slot in range(5)]

    # What may happen

    @rule(slot=SLOTS, topics=SUBSCRIPTIONS, regex=st.none() | st.sampled_from(["t|v", ".*"]))
    def subscribe(self, slot: int, topics: tuple[str, ...], regex: str | None) -> None:
        client = self.clients[slot]
        client.topics, client.regex = topics, regex
        self._heartbeat(client, full=True)

    @rule(slot=SLOTS, lost=st.sampled_from([False, False, False, True]), acknowledges=st.booleans())
    def heartbeat(self, slot: int, lost: bool, acknowledges: bool) -> None:
        client = self.clients[slot]
        if acknowledges:
            client.has = client.told
        self._heartbeat(client, full=acknowledges, lost=lost)

    @rule()
    def all_heartbeat(self) -> None:
        for slot in range(5):
            self.heartbeat(slot, lost=False, acknowledges=True)

    @rule(slot=SLOTS, epoch=st.sampled_from([-1, -2]))
    def leave(self, slot: int, epoch: int) -> None:
        client = self.clients[slot]
        client.has = client.told = frozenset()
        if epoch == -1 or client.instance_id is not None:
            self.course.heartbeat(client.member_id, epoch, instance_id=client.instance_id)
        self.restart(slot)

    @rule(slot=SLOTS)
    def restart(self, slot: int) -> None:
        """The process ends and begins anew; it reads nothing any more."""
        self.lives += 1
        self.clients[slot] = Client(slot, self.lives)

    @rule(name=st.sampled_from(["t", "u", "v"]), partitions=st.integers(1, 6))
    def change_topic(self, name: str, partitions: int) -> None:
        topic = self.course.image.topic(name)
        if topic is None:
            self.course.create(name, partitions)
        elif partitions == 1:
            self.course.delete(name)
        else:
            self.course.grow(name, partitions)

    @rule(elapsed_ms=st.sampled_from([10, 1_500, 6_000, 11_000]))
    def pass_time(self, elapsed_ms: int) -> None:
        for client in self.clients:  # a consumer that cannot be heard for so long stops before it is taken for gone
            if elapsed_ms > 10_000:
                client.has = client.told = frozenset()
                client.epoch = 0
        removed = self.course.pass_time(elapsed_ms)
        for client in self.clients:
            if client.member_id in removed:
                client.has = client.told = frozenset()
                client.epoch = 0

    @rule()
    def move_to_another_coordinator(self) -> None:
        self.course.shard = self.course.replayed()
        self.course.shard.begin(self.course.now_ms)

    # What must be true

    @invariant()
    def nobody_reads_what_another_reads(self) -> None:
        if not hasattr(self, "course"):
            return
        shard = self.course.shard
        shard.check()
        assert self.course.replayed().consumers == shard.consumers
        reading = [partition for client in self.clients for partition in client.has]
        assert len(reading) == len(set(reading)), "two read a partition"

    def teardown(self) -> None:
        """Left in peace, every partition that somebody wants has one reader."""
        if not hasattr(self, "course"):
            return
        for _ in range(12):
            self.course.pass_time(2_000)
            for client in self.clients:
                client.has = client.told
                self._heartbeat(client, full=True)
        group = self.course.shard.consumers["g"]
        assert group.state is ConsumerGroupState.STABLE
        wanted: set[str] = set()
        for member in group.members.values():
            wanted |= group.topics_of(member)
        topics = [topic for name in wanted if (topic := self.course.image.topic(name)) is not None]
        everything = {(topic.topic_id, number) for topic in topics for number in range(len(topic.partitions))}
        reading = [partition for client in self.clients for partition in client.told if client.epoch > 0]
        assert sorted(reading) == sorted(everything)

    # How a client carries it out

    def _heartbeat(self, client: Client, *, full: bool, lost: bool = False) -> None:
        said: dict[str, Any] = {"instance_id": client.instance_id}
        if full or client.epoch == 0:
            said |= {"topics": client.topics, "regex": client.regex or "", "rebalance_timeout_ms": 5_000}
            said["reported"] = client.has if client.epoch else frozenset()
        answer = self.course.heartbeat(client.member_id, client.epoch, **said)
        if lost:
            return
        match answer.error:
            case ErrorCode.NONE:
                client.epoch = answer.member_epoch
                if answer.assignment is not None:
                    client.told = answer.assignment
            case ErrorCode.FENCED_MEMBER_EPOCH | ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.GROUP_ID_NOT_FOUND:
                client.epoch = 0
                client.has = client.told = frozenset()
            case ErrorCode.FENCED_INSTANCE_ID | ErrorCode.UNRELEASED_INSTANCE_ID | ErrorCode.GROUP_MAX_SIZE_REACHED:
                client.epoch = 0
                client.has = client.told = frozenset()
            case unexpected:
                raise AssertionError(unexpected)


ConsumerCourse.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestAnyCourse = ConsumerCourse.TestCase
