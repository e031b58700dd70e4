"""Finds what a member of a share group may have of the partitions of its session, and gives it to the member.

Looking changes nothing and may be repeated; giving follows in the same moment as the look that found enough.
"""

from collections.abc import Sequence
from dataclasses import field

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.reads.purgatory import ANY_OFFSET, Place
from millstream_broker.core.share.partition import Acquired, LogBatch, SharePartition
from millstream_broker.core.share.session import ShareSession
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.share.partitions import Shared
from millstream_log import AbortedTransaction, ColdRead, FileSlice, LogError, SlicedBatch, batches_of
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the member asks for, over all partitions."""

    records_max: int
    bytes_max: int
    bytes_min: int
    batch_size: int
    strict: bool
    """No more records than that, whatever the batches."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the log has from where a share goes on."""

    key: ReplicaKey
    shared: Shared
    from_offset: int
    slice: FileSlice
    batches: Sequence[SlicedBatch]
    aborted: Sequence[AbortedTransaction]
    """Those with records in the batches, for a group that reads committed records."""


@dataclass(slots=True)
class Look:
    found: list[Found] = field(default_factory=list)
    errors: dict[ReplicaKey, ErrorCode] = field(default_factory=dict)
    places: dict[Place, int] = field(default_factory=dict)
    """Where to wait for more, and from which offsets on."""
    size: int = 0
    has_returned: bool = False
    """There are records that nobody has any more: whoever asks next gets them, however few."""

    def is_enough(self, wanted: Wanted) -> bool:
        return bool(self.errors) or self.has_returned or self.size >= wanted.bytes_min

    def release(self) -> None:
        for each in self.found:
            each.slice.release()
        self.found.clear()


@dataclass(frozen=True, slots=True)
class Given:
    key: ReplicaKey
    shared: Shared
    slice: FileSlice
    acquired: Sequence[Acquired]


class ShareFetching:
    """One ShareFetch; it remembers its shares, so that one that fails is told instead of being loaded again and again."""

    def __init__(self, broker: Broker, session: ShareSession, wanted: Wanted, context: RequestContext) -> None:
        self._broker = broker
        self._session = session
        self._wanted = wanted
        self._context = context
        self._used: dict[ReplicaKey, Shared] = {}

    def look(self, cold: list[ColdRead] | None) -> Look:
        """Where a list is given, what would have to wait for the disk is noted there, and left out."""
        look = Look()
        partitions = list(self._session.partitions)
        for index, key in enumerate(partitions):
            shared = self._use(key)
            if isinstance(shared, ErrorCode):
                look.errors[key] = shared
                continue
            look.places[shared.place] = ANY_OFFSET
            look.places[shared.replica.place(shared.bound)] = shared.end_offset
            left = max(0, self._wanted.bytes_max - look.size) // (len(partitions) - index)
            try:
                found = self._read(key, shared, left, is_first=look.size == 0, may_wait=cold is None)
            except ColdRead as missing:
                assert cold is not None
                cold.append(missing)
                continue
            except LogError as error:
                look.errors[key] = ErrorCode(error.error_code)
                continue
            if found is not None:
                look.found.append(found)
                look.size += len(found.slice)
                look.has_returned = look.has_returned or found.from_offset < _share(found).end_offset
        return look

    def give(self, look: Look) -> list[Given]:
        """Have the member acquire what was found, up to its limits; the rest of it stays."""
        wanted, given = self._wanted, []
        left = wanted.records_max
        for found in look.found:
            acquired: list[Acquired] = []
            if left > 0:
                acquired = _share(found).acquire(
                    self._session.key.member_id,
                    found.from_offset,
                    _for_delivery(found),
                    records_max=left,
                    strict=wanted.strict,
                    batch_size=wanted.batch_size,
                    now_ms=self._broker.world.monotonic_ms(),
                )
            if acquired:
                left -= sum(each.end - each.start for each in acquired)
                given.append(Given(found.key, found.shared, _part(found, acquired), acquired))
                self._broker.share_groups.partitions.acquired(found.shared, acquired)
                self._session.served(found.key)
        look.release()
        return given

    def _use(self, key: ReplicaKey) -> Shared | ErrorCode:
        groups = self._broker.share_groups
        if not groups.sessions.is_open(self._session):  # it ended while this fetch waited
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        before = self._used.get(key)
        if before is not None and before.failure is not ErrorCode.NONE:
            return before.failure
        if not self._broker.may_read(key[0], self._context):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        replica = self._broker.locate(*key)
        if isinstance(replica, ErrorCode):
            return replica
        group_id, member_id = self._session.key
        shared = self._used[key] = groups.partitions.use(group_id, replica, member_id)
        return shared

    def _read(self, key: ReplicaKey, shared: Shared, left: int, *, is_first: bool, may_wait: bool) -> Found | None:
        share, log = shared.share, shared.replica.log
        if share is None or not share.has_room:
            return None
        start = share.next_fetch_offset
        read = log.read(start, left, min_one=is_first, end_offset=shared.end_offset, may_wait=may_wait)
        if read is None:
            return None
        until = max(start, share.end_offset) + self._wanted.records_max
        try:
            batches = batches_of(read.slice, until=until, may_wait=may_wait)
            aborted: Sequence[AbortedTransaction] = ()
            if shared.settings.read_committed and batches:
                first, last = batches[0].header, batches[-1].header
                aborted = log.aborted_transactions(first.base_offset, last.next_offset)
        except (ColdRead, LogError):
            read.slice.release()
            raise
        return Found(key, shared, start, read.slice, batches, aborted)


def _share(found: Found) -> SharePartition:
    assert found.shared.share is not None, "only what is loaded is read"
    return found.shared.share


def _for_delivery(found: Found) -> list[LogBatch]:
    """The batches as the share partition sees them: markers are nobody's, nor is what was aborted for who reads committed."""
    headers = [batch.header for batch in found.batches]
    return [
        LogBatch(
            header.base_offset,
            header.next_offset,
            not header.is_control
            and header.record_count > 0
            and not any(
                txn.producer_id == header.producer_id and txn.first_offset <= header.base_offset <= txn.last_offset
                for txn in found.aborted
                if header.is_transactional
            ),
        )
        for header in headers
    ]


def _part(found: Found, acquired: Sequence[Acquired]) -> FileSlice:
    """The batches from the first to the last that the member acquired something of."""
    start, end = acquired[0].start, acquired[-1].end
    within = [batch for batch in found.batches if batch.header.next_offset > start and batch.header.base_offset < end]
    position = within[0].position
    return found.slice.part(position, within[-1].position + within[-1].header.size - position)
