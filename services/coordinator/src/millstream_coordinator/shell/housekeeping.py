"""What nobody asks for: offsets of groups long empty expire, and those of deleted topics go with them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.image import Image
from millstream_coordinator.config import CoordinatorConfig
from millstream_coordinator.core.commands.offsets import expire, remove_topic
from millstream_coordinator.core.commands.share_partitions import forget_missing_topics
from millstream_coordinator.core.commands.transactional_offsets import forget_producers
from millstream_coordinator.core.group.policy import GroupPolicy
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.journal.bounds import Removal
from millstream_coordinator.core.share_state.commands import forget_topics
from millstream_coordinator.shell.groups.groups import Groups
from millstream_coordinator.shell.shards.shards import Shards
from millstream_coordinator.shell.share_states.share_states import ShareStates
from millstream_runtime.replicated import NotCommitted

Decide = Callable[[GroupShard, int], Decision[ShardRecord, Removal]]


class Housekeeping:
    def __init__(
        self,
        config: CoordinatorConfig,
        shards: Shards[Groups],
        share_states: Shards[ShareStates],
        image: Callable[[], Image],
    ) -> None:
        self._config = config
        self._shards = shards
        self._share_states = share_states
        self._image = image
        self._topic_deleted = asyncio.Event()

    def on_records(self, records: Sequence[r.MetadataRecord]) -> None:
        if any(isinstance(record, r.TopicDeleted) for record in records):
            self._topic_deleted.set()

    async def run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._config.offsets_retention_check_interval_ms / 1000):
                    await self._topic_deleted.wait()
            except TimeoutError:
                await self._everywhere(self._expire)
            self._topic_deleted.clear()
            await self._everywhere(self._forget_deleted_topics)
            await self._forget_share_states()

    async def _everywhere(self, clean: Callable[[Groups], Awaitable[None]]) -> None:
        for groups in self._shards.serving():
            try:
                await clean(groups)
            except NotCommitted:
                continue  # not ours any more: its new owner cleans it

    async def _expire(self, groups: Groups) -> None:
        retention_ms = self._config.offsets_retention_ms
        await _until_done(
            groups,
            lambda shard, now_ms: expire(shard, retention_ms=retention_ms, now_ms=now_ms, of_group=self._retention_of),
        )
        expiration_ms = self._config.transactions.id_expiration_ms
        if expiration_ms is not None:
            await _until_done(
                groups, lambda shard, now_ms: forget_producers(shard, expiration_ms=expiration_ms, now_ms=now_ms)
            )

    def _retention_of(self, group_id: str) -> int | None:
        return GroupPolicy.of_configs(self._image().config(r.ResourceType.GROUP, group_id)).retention_ms

    async def _forget_deleted_topics(self, groups: Groups) -> None:
        """By the metadata of now: a topic that came back under its name meanwhile keeps what was committed to it."""
        image = self._image()
        known = {topic for offsets in groups.shard.offsets.values() for topic, _ in offsets}
        known |= {topic for waiting in groups.shard.pending.offsets.values() for _, topic, _ in waiting}
        for topic in sorted(known - image.topics.keys()):
            await _until_done(groups, _removal_of(topic))
        await _until_done(groups, lambda shard, _: forget_missing_topics(shard, image))

    async def _forget_share_states(self) -> None:
        for states in self._share_states.serving():
            try:
                while (await states.execute(lambda shard, _: forget_topics(shard, self._exists))).more:
                    pass
            except NotCommitted:
                continue  # not ours any more: its new owner cleans it

    def _exists(self, topic_id: UUID) -> bool:
        return self._image().topic(topic_id) is not None


def _removal_of(topic: str) -> Decide:
    return lambda shard, now_ms: remove_topic(shard, topic, now_ms)


async def _until_done(groups: Groups, decide: Decide) -> None:
    while (await groups.execute(decide)).more:
        pass
