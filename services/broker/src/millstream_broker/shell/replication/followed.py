"""A partition that is copied from its leader: its log, its step machine, and the batches of an answer as the machine takes them."""

from collections.abc import Callable
from dataclasses import dataclass

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.partition.follower import NO_EPOCH, Answer, FetchFrom, Follower
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.fetch import PartitionData
from millstream_wire.records import BatchHeader, RecordsError, check, decode_batch, split


@dataclass(slots=True, eq=False)
class Followed:
    """From one assignment to the next: another leader or leader epoch makes another one of these."""

    replica: HostedPartition
    follower: Follower
    on_changed: Callable[["Followed"], None]
    """Called when there may be another question to ask."""
    is_nearly_in_sync: bool = False
    """It had all that was committed when its leader last answered."""
    is_held: bool = False
    """The throttle holds it; it is looked at again when there is room."""
    is_watched: bool = False
    """Its log has refused an append; whether that is over is looked at again and again."""
    is_failure_told: bool = False
    """A flush has failed, and the leader knows that this log takes nothing more."""
    is_over: bool = False
    """Nothing is done for it any more."""

    @property
    def must_flush(self) -> bool:
        """Nothing is asked before what is here has been flushed, which is under way."""
        log = self.replica.log
        return self.replica.settings.visible_after_flush and log.recovery_point < log.log_end_offset

    def question(self) -> FetchFrom | None:
        """What to ask the leader; what a fetch says is here was flushed before, if the topic asks for that. Where a flush has failed a fetch says so, once, and that only what was flushed before is here."""
        log = self.replica.log
        if not log.has_failed:
            return None if self.must_flush else self.follower.question()
        if self.is_failure_told:
            return None
        offset = max(log.recovery_point, log.log_start_offset)
        epoch = log.epoch_of(offset - 1) if offset > log.log_start_offset else NO_EPOCH
        return FetchFrom(offset, self.follower.leader_epoch, epoch, log.log_start_offset, cannot_append=True)


class Flushing:
    """Who asked nothing, when it was looked at last, because it was being flushed."""

    __slots__ = ("_followed",)

    def __init__(self) -> None:
        self._followed: dict[ReplicaKey, Followed] = {}

    def look_at(self, key: ReplicaKey, followed: Followed | None, question: FetchFrom | None) -> None:
        if question is None and followed is not None and followed.must_flush:
            self._followed[key] = followed
        elif self._followed:
            self._followed.pop(key, None)

    @property
    def is_under_way(self) -> bool:
        return any(followed.must_flush for followed in self._followed.values())


class Batches:
    """Whole, intact batches that lie one after the other, and why what follows them is not among them."""

    __slots__ = ("content", "headers", "unreadable")

    def __init__(self, content: memoryview, headers: list[BatchHeader], unreadable: str) -> None:
        self.content = content
        self.headers = headers
        self.unreadable = unreadable

    def owned(self) -> "Batches":
        """The same for longer than the answer is there."""
        return Batches(memoryview(bytes(self.content)), self.headers, self.unreadable)


def checked(records: bytes | memoryview | None) -> Batches:
    """Check every batch of an answer as if a client had sent it: what a leader's disk spoilt must not be copied."""
    content = memoryview(records or b"")
    headers: list[BatchHeader] = []
    try:
        for batch in split(content, torn_tail=True):
            header = check(batch)
            if header.is_control:
                decode_batch(batch, header)  # or it would fail when it is in the log already
            headers.append(header)
    except RecordsError as error:
        return Batches(content, headers, str(error) or type(error).__name__)
    return Batches(content, headers, "")


def answer_of(data: PartitionData, batches: Batches) -> Answer:
    return Answer(
        ErrorCode(data.error_code),
        data.high_watermark,
        data.log_start_offset,
        data.diverging_epoch.epoch,
        data.diverging_epoch.end_offset,
        batches.headers,
        batches.unreadable,
    )
