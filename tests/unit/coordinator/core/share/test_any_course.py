"""Any course of share groups: whatever members, topics, time and half-done work do, the log gives the live state, and left in
peace everything that somebody asks for is read, by members who ask for it.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from share_course import ShareCourse

from millstream_coordinator.core.commands.offsets import delete_group
from millstream_coordinator.core.commands.share_partitions import begin_deletion, forget_missing_topics, state_deleted
from millstream_coordinator.core.group.partitions import NO_PARTITIONS, Partitions
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.share.limits import ShareLimits
from millstream_wire.errors import ErrorCode

SLOTS = st.integers(0, 3)
TOPICS = st.sampled_from([("t",), ("t", "u"), ("u",), ("no-such-topic",)])


class AnyShareCourse(RuleBasedStateMachine):
    @initialize(interval_ms=st.sampled_from([0, 1_000]))
    def begin(self, interval_ms: int) -> None:
        self.course = ShareCourse(GroupLimits(share=ShareLimits(assignment_interval_ms=interval_ms, size_max=3)))
        self.course.create("t", 2)
        self.epochs: dict[int, int] = {}
        self.topics: dict[int, tuple[str, ...]] = {}
        self.told: dict[int, Partitions] = {}
        self.to_begin: Partitions = NO_PARTITIONS

    @rule(slot=SLOTS, topics=TOPICS)
    def join(self, slot: int, topics: tuple[str, ...]) -> None:
        said = self.course.say(f"m{slot}", 0, topics)
        if said.answer.error is ErrorCode.NONE:
            self.topics[slot] = topics
        self._hear(slot, said)

    @rule(slot=SLOTS, lost=st.booleans())
    def heartbeat(self, slot: int, lost: bool) -> None:
        if slot in self.epochs:
            said = self.course.say(f"m{slot}", self.epochs[slot], self.topics[slot] if lost else None)
            self._hear(slot, said)

    def _hear(self, slot: int, said: object) -> None:
        answer = said.answer  # type: ignore[attr-defined]
        if answer.error is not ErrorCode.NONE:
            self.epochs.pop(slot, None)
            return
        self.to_begin |= said.initializing  # type: ignore[attr-defined]
        self.epochs[slot] = answer.member_epoch
        if answer.assignment is not None:
            self.told[slot] = answer.assignment

    @rule(slot=SLOTS)
    def leave(self, slot: int) -> None:
        self.course.say(f"m{slot}", -1)
        self.epochs.pop(slot, None)

    @rule(data=st.data())
    def state_is_begun(self, data: st.DataObject) -> None:
        """Of some; perhaps late, when nobody waits for it any more."""
        some = data.draw(st.frozensets(st.sampled_from(sorted(self.to_begin)))) if self.to_begin else NO_PARTITIONS
        self.course.begin(some)

    @rule(name=st.sampled_from(["t", "u"]), partitions=st.integers(1, 4))
    def change_topic(self, name: str, partitions: int) -> None:
        if self.course.image.topic(name) is None:
            self.course.create(name, partitions)
        else:
            self.course.grow(name, partitions)

    @rule(name=st.sampled_from(["t", "u"]))
    def delete_topic(self, name: str) -> None:
        if self.course.image.topic(name) is not None:
            self.course.delete(name)
            self.course.write(forget_missing_topics(self.course.shard, self.course.image))

    @rule(ends=st.booleans())
    def forget_all(self, ends: bool) -> None:
        change = begin_deletion(self.course.shard, "g", None, self.course.image)
        self.course.write(change)
        if ends and not change.reply.error:
            self.course.write(state_deleted(self.course.shard, "g", change.reply.topics))
            self.course.write(delete_group(self.course.shard, "g"))

    @rule(elapsed_ms=st.sampled_from([0, 2_000, 46_000]))
    def time_passes(self, elapsed_ms: int) -> None:
        for name in self.course.pass_time(elapsed_ms):
            self.epochs.pop(int(name[1:]), None)

    @rule()
    def left_in_peace(self) -> None:
        group = self.course.shard.shares.get("g")
        if group is not None:
            self.course.write(state_deleted(self.course.shard, "g", group.kept.deleting))
        for _ in range(4):
            self.course.now_ms += 1_000
            for slot in list(self.epochs):
                self.heartbeat(slot, lost=False)
                self.course.begin(self.to_begin)
        image = self.course.image
        wanted = {
            (topic.topic_id, number)
            for slot in self.epochs
            for name in self.topics[slot]
            if (topic := image.topic(name)) is not None
            for number in range(len(topic.partitions))
        }
        assert frozenset().union(*(self.told[slot] for slot in self.epochs)) == wanted
        for slot in self.epochs:
            asked = {topic.topic_id for name in self.topics[slot] if (topic := image.topic(name)) is not None}
            assert {topic_id for topic_id, _ in self.told[slot]} <= asked
            assert self.told[slot] or not asked

    @invariant()
    def replay_gives_the_live_state(self) -> None:
        if hasattr(self, "course"):
            assert self.course.replayed().shares == self.course.shard.shares


TestAnyShareCourse = AnyShareCourse.TestCase
TestAnyShareCourse.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
