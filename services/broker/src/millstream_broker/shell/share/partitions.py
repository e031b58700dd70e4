"""The share partitions that members of share groups use on this broker: loaded when first asked for, stored as they change.

What members are told took effect has been stored before. Each is given up when the partition's leader or epoch changes, when
the coordinator says that the state is another's, or when no member is left.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.reads.bounds import Bound
from millstream_broker.core.reads.purgatory import Place
from millstream_broker.core.share.partition import Acknowledgement, AcknowledgeType, Acquired, SharePartition
from millstream_broker.shell.delays import Delays
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.share.settings import ShareSettings
from millstream_broker.shell.share.states import ShareKey, ShareStates, StoredState
from millstream_cluster.configs.offset_reset import EARLIEST, LATEST, offset_reset_timestamp
from millstream_log import LogError
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode

logger = logging.getLogger(__name__)

NO_STATE = -1
RELOAD_BACKOFF_MS = 1_000


class Shared:
    """One group's share of a partition that this broker leads in `leader_epoch`; `share` is None until it is loaded."""

    __slots__ = (
        "failure",
        "is_storing",
        "key",
        "leader_epoch",
        "members",
        "place",
        "replica",
        "settings",
        "share",
        "state_epoch",
        "timer",
        "waiting",
    )

    def __init__(self, key: ShareKey, replica: HostedPartition, settings: ShareSettings) -> None:
        self.key = key
        self.place = Place()
        """Where fetches wait for records that come back."""
        self.replica = replica
        self.leader_epoch = replica.partition.leader_epoch
        self.settings = settings
        self.share: SharePartition | None = None
        self.failure = ErrorCode.NONE
        self.state_epoch = 0
        self.members: set[str] = set()
        self.timer: asyncio.TimerHandle | None = None
        self.is_storing = False
        self.waiting: list[asyncio.Future[ErrorCode]] = []
        """Who is told how the next write went."""

    @property
    def is_current(self) -> bool:
        partition = self.replica.partition
        return partition.leads and partition.leader_epoch == self.leader_epoch

    @property
    def bound(self) -> Bound:
        return Bound.LAST_STABLE_OFFSET if self.settings.read_committed else Bound.HIGH_WATERMARK

    @property
    def end_offset(self) -> int:
        """Where the partition ends for this group."""
        return self.replica.end_for(self.bound)


class SharePartitions:
    def __init__(
        self, world: World, delays: Delays, states: ShareStates, settings_of: Callable[[str], ShareSettings]
    ) -> None:
        self._world = world
        self._delays = delays
        self._states = states
        self._settings_of = settings_of
        self._shared: dict[ShareKey, Shared] = {}
        self._settings: dict[str, ShareSettings] = {}
        self._work: asyncio.Queue[Coroutine[Any, Any, None]] = asyncio.Queue()
        self.acquired_records = 0
        self.expired_records = 0
        self.acknowledged = dict.fromkeys(AcknowledgeType, 0)
        """Records by what members said of them."""

    def __len__(self) -> int:
        return len(self._shared)

    async def run(self) -> None:
        """Load and store until the broker stops."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(await self._work.get())

    async def close(self) -> None:
        for shared in list(self._shared.values()):
            self._drop(shared, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        while not self._work.empty():
            self._work.get_nowait().close()
        await self._states.close()

    def on_image(self) -> None:
        """Leaders or configurations may have changed."""
        self._settings.clear()
        for shared in list(self._shared.values()):
            if shared.is_current:
                self._configure(shared)
            else:
                self._drop(shared, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def settings(self, group_id: str) -> ShareSettings:
        settings = self._settings.get(group_id)
        if settings is None:
            if len(self._settings) >= _SETTINGS_MAX:
                self._settings.clear()
            settings = self._settings[group_id] = self._settings_of(group_id)
        return settings

    # ---- what members do ----

    def use(self, group_id: str, replica: HostedPartition, member: str) -> Shared:
        """The group's share of this partition for a member that fetches from it; it may have to be loaded first."""
        key = ShareKey(group_id, *replica.key)
        shared = self._shared.get(key)
        if shared is not None and not shared.is_current:
            self._drop(shared, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            shared = None
        if shared is None:
            shared = self._shared[key] = Shared(key, replica, self.settings(group_id))
            self._work.put_nowait(self._load(shared))
        shared.members.add(member)
        if shared.share is not None:
            shared.share.on_log_start(replica.log.log_start_offset)
        return shared

    def acquired(self, shared: Shared, acquired: Iterable[Acquired]) -> None:
        """Records were given to a member: they come back when its time is over."""
        self.acquired_records += sum(each.end - each.start for each in acquired)
        self._arm(shared)

    def acknowledge(
        self, group_id: str, partition: ReplicaKey, member: str, said: Sequence[Acknowledgement]
    ) -> "ErrorCode | asyncio.Future[ErrorCode]":
        """What a member says of its records; the future is done once that is stored, or is known not to be."""
        shared = self._shared.get(ShareKey(group_id, *partition))
        if shared is None or shared.share is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not shared.is_current:
            self._drop(shared, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        self._expire(shared)
        code = shared.share.acknowledge(member, said, self._world.monotonic_ms())
        if code is not ErrorCode.NONE:
            return code
        for each in said:
            for kind in each.types:
                self.acknowledged[kind] += (each.end - each.start) // len(each.types)
        if not shared.share.awaits_write:
            return ErrorCode.NONE  # all of it was done before, or takes effect at once
        answer: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        shared.waiting.append(answer)
        self._store_soon(shared)
        return answer

    def leave(self, group_id: str, partitions: Iterable[ReplicaKey], member: str) -> None:
        """A member is gone: what it has of these partitions is for others."""
        for partition in partitions:
            shared = self._shared.get(ShareKey(group_id, *partition))
            if shared is None:
                continue
            shared.members.discard(member)
            if shared.share is not None and shared.share.release(member):
                self._store_soon(shared)
                self._delays.changed(shared.place)
            self._forget_unused(shared)

    # ---- loading ----

    async def _load(self, shared: Shared) -> None:
        while self._shared.get(shared.key) is shared and shared.members:
            stored = await self._states.read(shared.key, shared.leader_epoch)
            if self._shared.get(shared.key) is not shared:
                return
            if stored is ErrorCode.COORDINATOR_NOT_AVAILABLE:
                await asyncio.sleep(RELOAD_BACKOFF_MS / 1000)
                continue
            if not isinstance(stored, ErrorCode):
                stored = await self._begin(shared, stored)
            if isinstance(stored, ErrorCode):
                logger.info("share partition not loaded share=%s error=%s", shared.key, stored.name)
                self._drop(shared, _for_members(stored))
            return
        self._forget_unused(shared)

    async def _begin(self, shared: Shared, stored: StoredState) -> ErrorCode | StoredState:
        """Take over the stored state; where there is none, begin where the group's configuration says."""
        log = shared.replica.log
        start = stored.start_offset
        if start == NO_STATE:
            try:
                start = await self._initial_offset(shared)
            except LogError as error:
                return ErrorCode(error.error_code)
        is_stored = start == stored.start_offset
        if start > log.log_end_offset:  # the log lost its end, and what the group had of it
            start, is_stored = log.log_end_offset, False
        batches = [batch for batch in stored.batches if batch.end <= log.log_end_offset]
        shared.state_epoch = stored.state_epoch
        shared.share = SharePartition(start, batches, limits=shared.settings.limits, is_stored=is_stored)
        shared.share.on_log_start(log.log_start_offset)
        logger.debug("share partition loaded share=%s start_offset=%d", shared.key, start)
        self._store_soon(shared)
        self._delays.changed(shared.place)
        return stored

    async def _initial_offset(self, shared: Shared) -> int:
        log = shared.replica.log
        timestamp = offset_reset_timestamp(shared.settings.offset_reset, self._world.now_ms())
        if timestamp == EARLIEST:
            return log.log_start_offset
        if timestamp in (LATEST, None):
            return shared.end_offset
        found = await self._world.run_blocking(partial(log.offset_for_timestamp, timestamp))
        return shared.end_offset if found is None else min(found.offset, shared.end_offset)

    # ---- storing ----

    def _store_soon(self, shared: Shared) -> None:
        if not shared.is_storing:
            shared.is_storing = True
            self._work.put_nowait(self._store(shared))

    async def _store(self, shared: Shared) -> None:
        """Write what changed until nothing has, or nobody waits for what cannot be written now."""
        share = shared.share
        assert share is not None, "loaded before"
        code = ErrorCode.NONE
        while (code is ErrorCode.NONE or shared.waiting) and (write := share.begin_write()) is not None:
            waiting, shared.waiting = shared.waiting, []
            code = await self._states.write(
                shared.key, state_epoch=shared.state_epoch, leader_epoch=shared.leader_epoch, write=write
            )
            share.finish_write(is_stored=code is ErrorCode.NONE)
            _tell(waiting, _for_members(code))
            if code not in (ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE):
                logger.warning("share state not written share=%s error=%s", shared.key, code.name)
                self._drop(shared, _for_members(code))
            self._arm(shared)
            self._delays.changed(shared.place)
        shared.is_storing = False
        self._forget_unused(shared)

    # ---- time, and the end ----

    def _arm(self, shared: Shared) -> None:
        """Look again when the first of the records that members have is due to come back."""
        if shared.timer is not None or shared.share is None or self._shared.get(shared.key) is not shared:
            return
        deadline_ms = shared.share.deadline_ms
        if deadline_ms is not None:
            delay_ms = max(0, deadline_ms - self._world.monotonic_ms())
            # The clocks tick in milliseconds: see Delays.
            shared.timer = asyncio.get_running_loop().call_later((delay_ms + 1) / 1000, self._due, shared)

    def _due(self, shared: Shared) -> None:
        shared.timer = None
        self._expire(shared)
        self._arm(shared)

    def _expire(self, shared: Shared) -> None:
        assert shared.share is not None, "what has records is loaded"
        expired = shared.share.expire(self._world.monotonic_ms())
        if expired:
            self.expired_records += expired
            self._store_soon(shared)
            self._delays.changed(shared.place)

    def _configure(self, shared: Shared) -> None:
        shared.settings = self.settings(shared.key.group_id)
        if shared.share is not None:
            shared.share.limits = shared.settings.limits

    def _forget_unused(self, shared: Shared) -> None:
        """Let go of what no member uses and nothing is to be stored of: it can be loaded again."""
        has_holders = shared.share is not None and shared.share.deadline_ms is not None
        is_busy = shared.members or shared.is_storing or has_holders
        if not is_busy and self._shared.get(shared.key) is shared:
            self._drop(shared, ErrorCode.NONE)

    def _drop(self, shared: Shared, code: ErrorCode) -> None:
        """Give up what is known; who waits is told, and finds what is there when it asks again."""
        if self._shared.get(shared.key) is shared:
            del self._shared[shared.key]
        shared.failure = code
        if shared.timer is not None:
            shared.timer.cancel()
            shared.timer = None
        waiting, shared.waiting = shared.waiting, []
        _tell(waiting, code)
        self._delays.changed(shared.place)


_SETTINGS_MAX = 1_000


def _tell(waiting: Iterable["asyncio.Future[ErrorCode]"], code: ErrorCode) -> None:
    for answer in waiting:
        if not answer.done():  # who asked may be gone
            answer.set_result(code)


def _for_members(code: ErrorCode) -> ErrorCode:
    """What the coordinator says, in words that members understand: ask who leads now, or what there is."""
    match code:
        case ErrorCode.FENCED_STATE_EPOCH | ErrorCode.FENCED_LEADER_EPOCH:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        case ErrorCode.INVALID_REQUEST | ErrorCode.GROUP_ID_NOT_FOUND:  # there is no state of this group, or none yet
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        case _:
            return code
