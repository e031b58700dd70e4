"""Reads topics: all of their partitions, an even share of them, or what a consumer group gives it.

Keeps the promise about commits: what was committed is either what its reader is done with (at least once) or what it
was about to get (at most once).
"""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import field
from enum import Enum
from types import TracebackType

from millstream_client.assignment import TopicPartition
from millstream_client.background import Background
from millstream_client.cluster import Backoff, Cluster
from millstream_client.coordination import COORDINATOR_TIMEOUT_MS, NEVER, Coordination
from millstream_client.errors import InvalidData, KafkaError, Refused, Unreachable
from millstream_client.fetcher import FetchConfig, Fetcher
from millstream_client.formats import FORMATS, Format
from millstream_client.membership import GroupConfig, Membership
from millstream_client.message import Message
from millstream_client.offsets import EARLIEST, LATEST, NO_OFFSET, find_offsets, partitions_of
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.records import Record

logger = logging.getLogger(__name__)

MESSAGES_MAX = 500
LEAVING_TIMEOUT_MS = 5_000
PARTITIONS_CHECK_MS = 60_000
_LOST = frozenset(
    {
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
    }
)
_AWAY = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)


class Commit(Enum):
    """When a group's offsets are stored."""

    AFTER = "after"
    """Once the reader asked for the next messages: at least once."""
    BEFORE = "before"
    """Before the reader gets the messages: at most once."""
    MANUAL = "manual"
    """When the reader says so."""


@dataclass(frozen=True, slots=True)
class Share:
    """Every `count`-th partition, from `index` on; new partitions fall to somebody without moving old ones."""

    index: int = 0
    count: int = 1


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    start: int = EARLIEST
    """Where to begin what nobody committed: EARLIEST, LATEST, or a time in ms."""
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Partitions that begin elsewhere."""
    share: Share = Share()
    only: frozenset[TopicPartition] | None = None
    """Read these partitions only."""
    group: GroupConfig | None = None
    commit: Commit = Commit.AFTER
    commit_interval_ms: int = 5_000
    """With AFTER: how often, at most."""
    key_format: Format = FORMATS["bytes"]
    value_format: Format = FORMATS["bytes"]
    fetch: FetchConfig = field(default_factory=FetchConfig)


class Consumer:
    """Use as `async with`, from one event loop; leaving commits what is done (with AFTER) and leaves the group."""

    def __init__(self, cluster: Cluster, topics: Sequence[str], config: ConsumerConfig | None = None) -> None:
        self._cluster = cluster
        self._topics = list(topics)
        self._config = config or ConsumerConfig()
        self._fetcher = Fetcher(cluster, self._config.fetch)
        self._member: Membership | None = None
        self._done: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._committed_at_ms = 0
        self._checked_at_ms = 0
        self._waits = False
        self._exits = AsyncExitStack()

    async def __aenter__(self) -> "Consumer":
        group = self._config.group
        async with AsyncExitStack() as exits:
            if group is not None:
                self._coordination = Coordination(self._cluster, group.group_id)
                exits.push_async_callback(self._coordination.close)
                self._member = Membership(self._coordination, self._topics, group, self._fetcher.wake)
                background = await exits.enter_async_context(Background())
                background.start(self._member.keep_alive())
            await exits.enter_async_context(self._fetcher)
            if group is None:
                await self._assign_share()
            self._exits = exits.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._member is not None:
                if self._config.commit is Commit.AFTER:
                    await self._commit_done(give_up_ms=LEAVING_TIMEOUT_MS)
                await self._member.leave()
        except KafkaError as failure:
            if kind is None:
                raise
            logger.warning("group not left in order topics=%s error=%s", self._topics, failure)
        finally:
            await self._exits.__aexit__(kind, error, trace)

    # ---- reading ----

    async def poll(self, *, messages_max: int = MESSAGES_MAX, timeout_ms: int | None = None) -> list[Message]:
        """The next messages, about that many; waits for some, without an end unless a timeout is given.

        What earlier calls returned may be committed once `mark_done` was called with it.
        """
        started_ms = self._now_ms()
        backoff = Backoff()
        while True:
            is_prepared = await self._prepare_if_possible()
            taken = self._fetcher.take(messages_max) if is_prepared else []
            messages = await self._hand_out(taken) if taken else []
            if messages:
                return messages
            left_ms = float("inf") if timeout_ms is None else timeout_ms - (self._now_ms() - started_ms)
            if left_ms <= 0:
                return []
            if is_prepared:
                await self._fetcher.wait(min(left_ms, self._config.commit_interval_ms))
            else:
                await backoff.wait()

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Never ends."""
        while True:
            messages = await self.poll()
            for message in messages:
                yield message
                self.mark_done([message])

    def mark_done(self, messages: Sequence[Message]) -> None:
        """The reader needs these no more."""
        if self._member is None:
            return
        latest = {(message.topic, message.partition): message.offset for message in messages}
        for (topic, partition), offset in latest.items():
            self._done[TopicPartition(topic, partition)] = offset + 1

    async def commit(self) -> None:
        """Store how far the reader is; raise Refused if the group has given its partitions to somebody else."""
        if self._member is None:
            raise InvalidData("without a group there is nothing to commit")
        code = await self._commit_done()
        if code is not None:
            raise Refused(code, "the group rebalances", subject="commit")

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """By partition that is read now, the offset of the next message to hand out."""
        return {partition: buffer.position for partition, buffer in self._fetcher.assigned.items()}

    @property
    def is_assigned(self) -> bool:
        """Whether it is known what to read; that may be nothing."""
        return self._member is None or self._member.is_stable

    # ---- what to read ----

    async def _prepare_if_possible(self) -> bool:
        """Prepare; return False while nobody is there to ask, however long that may be."""
        try:
            await self._prepare()
            self._waits = False
        except (Unreachable, Refused) as error:
            if isinstance(error, Refused) and error.code not in _AWAY:
                raise
            if not self._waits:
                logger.warning("consumer waits topics=%s error=%s", self._topics, error)
            self._waits = True
        return not self._waits

    async def _prepare(self) -> None:
        """Before each look: be in the group, know the partitions, commit when it is time."""
        now_ms = self._now_ms()
        if self._member is not None:
            if self._member.error is not None:
                raise self._member.error
            if not self._member.is_stable:
                await self._join()
            elif self._config.commit is Commit.AFTER and self._is_commit_due(now_ms):
                await self._commit_if_possible()
        if now_ms - self._checked_at_ms > PARTITIONS_CHECK_MS:
            self._checked_at_ms = now_ms
            if self._member is not None:
                await self._member.check_partitions()
            else:
                await self._assign_share()

    async def _assign_share(self) -> None:
        self._checked_at_ms = self._now_ms()
        share, only = self._config.share, self._config.only
        everything = await partitions_of(self._cluster, self._topics)
        wanted = [
            each
            for each in everything
            if each.partition % share.count == share.index and (only is None or each in only)
        ]
        if only is not None and (missing := only - set(everything)):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, subject=str(min(missing)))
        reads = self._fetcher.assigned
        if reads.keys() == set(wanted) and reads:
            return
        # What comes later is new, and nothing of it may be missed.
        fresh = await self._start_of([each for each in wanted if each not in reads], EARLIEST if reads else None)
        self._fetcher.assign({each: fresh.get(each, 0) for each in wanted})

    async def _join(self) -> None:
        assert self._member is not None
        if self._config.commit is Commit.AFTER:
            await self._commit_if_possible()
        self._fetcher.assign({})
        partitions = await self._member.join()
        try:
            committed = await self._coordination.committed(partitions) if partitions else {}
            fresh = await self._start_of([each for each in partitions if each not in committed])
        except BaseException:
            self._member.is_stable = False  # we would hold partitions without reading them
            raise
        self._committed = dict(committed)
        self._done = {}
        self._committed_at_ms = self._now_ms()
        self._fetcher.assign({each: committed.get(each, fresh.get(each, 0)) for each in partitions})

    async def _start_of(
        self, partitions: Sequence[TopicPartition], start: int | None = None
    ) -> dict[TopicPartition, int]:
        """Where to begin partitions that have no committed offset."""
        offsets = self._config.offsets
        wanted = {each: self._config.start if start is None else start for each in partitions if each not in offsets}
        found = await find_offsets(self._cluster, wanted)
        young = await find_offsets(self._cluster, {each: LATEST for each, at in found.items() if at == NO_OFFSET})
        return found | young | {each: offsets[each] for each in partitions if each in offsets}

    # ---- handing out and committing ----

    async def _hand_out(self, taken: list[tuple[TopicPartition, list[Record]]]) -> list[Message]:
        messages: list[Message] = []
        for partition, records in taken:
            messages += self._messages(partition, records)
        if self._member is not None and self._config.commit is Commit.BEFORE:
            self.mark_done(messages)
            if await self._commit_done(give_up_ms=NEVER) is not None:
                return []  # they are somebody else's now
        return messages

    def _messages(self, partition: TopicPartition, records: Sequence[Record]) -> list[Message]:
        topic, index = partition
        if self._config.key_format is self._config.value_format is FORMATS["bytes"]:  # they are that already
            return [Message(topic, index, r.offset, r.timestamp, r.key, r.value, r.headers) for r in records]
        key_of, value_of = self._config.key_format.from_bytes, self._config.value_format.from_bytes
        messages: list[Message] = []
        for record in records:
            try:
                key, value = key_of(record.key), value_of(record.value)
            except InvalidData as error:
                raise InvalidData(f"{partition} offset {record.offset}: {error}") from error
            messages.append(Message(topic, index, record.offset, record.timestamp, key, value, record.headers))
        return messages

    async def _commit_if_possible(self) -> None:
        """Commit, or leave it for the next time: what is done will at worst be read again."""
        try:
            await self._commit_done(give_up_ms=LEAVING_TIMEOUT_MS)
        except Unreachable as error:
            logger.warning("commit postponed topics=%s error=%s", self._topics, error)

    async def _commit_done(self, *, give_up_ms: float = COORDINATOR_TIMEOUT_MS) -> ErrorCode | None:
        """Commit; return what the group says if these partitions are no longer ours to commit."""
        assert self._member is not None
        self._committed_at_ms = self._now_ms()
        offsets = {each: offset for each, offset in self._done.items() if self._committed.get(each) != offset}
        if not offsets:
            return None
        try:
            await self._member.commit(offsets, give_up_ms=give_up_ms)
        except Refused as error:
            if error.code not in _LOST:
                raise
            self._member.lost(error.code)
            return error.code
        self._committed |= offsets
        return None

    def _is_commit_due(self, now_ms: int) -> bool:
        return now_ms - self._committed_at_ms >= self._config.commit_interval_ms

    def _now_ms(self) -> int:
        return self._cluster.world.monotonic_ms()
