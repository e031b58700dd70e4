"""Follows the metadata log of the active controller into an Image, as an observer.

It never truncates and never guesses: what the log says is applied in order, once. A log that does not go on from what was
applied here is not this cluster's log any more: MetadataDiverged, and a person has to look.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from millstream_cluster.errors import ClusterError, RecordError
from millstream_cluster.ids import METADATA_TOPIC, METADATA_TOPIC_ID
from millstream_cluster.image import Image
from millstream_cluster.metadata_version import NEWEST
from millstream_cluster.records import MetadataRecord, decode_record
from millstream_runtime.nodes.client import ClientError
from millstream_runtime.nodes.controllers import ATTEMPT_TIMEOUT_MS, ControllerLink, ControllerUnavailable
from millstream_runtime.nodes.registration import Registration
from millstream_runtime.service import ServiceFailed
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages import FetchRequest, FetchSnapshotRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic, PartitionData, ReplicaState
from millstream_wire.messages.fetch_snapshot import RequestPartitionSnapshot, RequestTopicSnapshot, SnapshotId
from millstream_wire.records import RecordsError, decode_batches

logger = logging.getLogger(__name__)

FETCH_MAX_BYTES = 8 * 1024 * 1024
SNAPSHOT_MAX_BYTES = 512 * 1024 * 1024
REQUEST_TIMEOUT_MS = 30_000
RETRY_MS = 100


class MetadataDiverged(ServiceFailed):
    """The controller's log does not contain what was applied here, or what it says does not fit."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The last metadata that a node has applied in its life: the record's offset, the epoch it was appended in, its cluster."""

    offset: int
    epoch: int
    cluster_id: str

    @staticmethod
    def of(image: Image) -> "Applied | None":
        """How far an image is; None while it is not any cluster's."""
        if image.cluster_id is None or image.controller is None:
            return None
        return Applied(image.offset, image.controller.epoch, image.cluster_id)


class MetadataUnreadable(ServiceFailed):
    """The log holds what this release does not know: one line that says which level is needed, and the node stops."""


class _TryAgain(Exception):
    """An answer that says: not now, or not here."""


class _NotAllowed(_TryAgain):
    """Not for the credentials that were shown: nothing changes before a person grants it, who has to be told."""


class MetadataFollower:
    """Keeps `image` up to date; after each batch `on_records(image, records)` is told what was applied.

    After a snapshot the image is a new object and the records are all of the snapshot's: what they do not name is gone.

    Every image is a prefix of the cluster's log, since a controller serves only what the store has taken. How old a prefix
    it is nobody can tell from the image: who serves it may have been deposed. It is *unproven* until it reflects the record
    with which this process registered (`until_proven`): the controller that answered the registration had appended that
    record, and only the active controller's append succeeds, so it was the active one after this process began to ask, and
    the image has all that was committed before. An unproven image is good for serving what is known; nothing may be made,
    renamed or deleted because of it.
    """

    def __init__(
        self,
        world: World,
        link: ControllerLink,
        *,
        node_id: int,
        on_records: Callable[[Image, Sequence[MetadataRecord]], None],
        max_wait_ms: int = 1_000,
        applied_before: Applied | None = None,
    ) -> None:
        """`applied_before`: what an earlier life of this node has applied; a log without it is not followed at all."""
        self.image = Image()
        self.caught_up = asyncio.Event()
        """Set once the image reflects everything that was committed at some moment after the start."""
        self._world = world
        self._link = link.another()
        self._node_id = node_id
        self._on_records = on_records
        self._max_wait_ms = max_wait_ms
        self._unproven = applied_before
        self._advanced = asyncio.Event()

    async def run(self) -> None:
        """Fetch and apply until cancelled. Raises MetadataDiverged and MetadataUnreadable."""
        waiting = False
        try:
            while True:
                try:
                    await (self._fetch() if self._unproven is None else self._prove(self._unproven))
                    waiting = False
                except (ClientError, _TryAgain) as error:
                    if not waiting and isinstance(error, (ControllerUnavailable, _NotAllowed)):
                        waiting = True
                        logger.warning("metadata waits node=%d reason=%s", self._node_id, error)
                    await asyncio.sleep(RETRY_MS / 1000)
        finally:
            await self._link.close()

    async def wait_for(self, offset: int) -> None:
        """Return once the image reflects `offset`."""
        while self.image.offset < offset:
            await self._advanced.wait()

    async def until_proven(self, registration: Registration) -> None:
        """Return once the image reflects a registration of this process, whichever was the first."""
        await registration.registered.wait()
        await self.wait_for(registration.broker_epoch)

    @property
    def applied(self) -> Applied | None:
        """How far the image is; None while there is none."""
        return Applied.of(self.image)

    async def _prove(self, applied: Applied) -> None:
        """Have the controller say that its log contains what was applied before anything of it is followed."""
        data = await self._ask(applied, max_wait_ms=0)
        error = ErrorCode(data.error_code)
        behind = error is ErrorCode.OFFSET_OUT_OF_RANGE and applied.offset >= data.log_start_offset
        if behind or data.diverging_epoch.end_offset >= 0:
            raise MetadataDiverged(
                f"node {self._node_id} has applied metadata up to {applied.offset} of epoch {applied.epoch}, which the "
                "controller's log does not contain: it was put back to an older state"
            )
        if error not in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE):
            raise _TryAgain(error.name)
        self._unproven = None

    async def _fetch(self) -> None:
        position = self.image.offset + 1
        await self._take(await self._ask(self.applied, max_wait_ms=self._max_wait_ms), position)

    async def _ask(self, applied: Applied | None, *, max_wait_ms: int) -> PartitionData:
        """What follows after what was applied."""
        partition = FetchPartition(
            partition=0,
            fetch_offset=applied.offset + 1 if applied is not None else 0,
            last_fetched_epoch=applied.epoch if applied is not None else -1,
            partition_max_bytes=FETCH_MAX_BYTES,
        )
        request = FetchRequest(
            cluster_id=applied.cluster_id if applied is not None else None,
            replica_state=ReplicaState(replica_id=self._node_id),
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=FETCH_MAX_BYTES,
            topics=[FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
            metadata_version=NEWEST,
        )
        response = await self._link.request(
            request, timeout_ms=REQUEST_TIMEOUT_MS, attempt_timeout_ms=max_wait_ms + ATTEMPT_TIMEOUT_MS
        )
        if response.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID:
            raise MetadataDiverged(
                f"node {self._node_id} belongs to cluster {request.cluster_id}, the controller does not"
            )
        if response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise _NotAllowed("the controller does not take us for a node: CLUSTER_AUTHORIZATION_FAILED")
        if response.error_code or not response.responses or not response.responses[0].partitions:
            raise _TryAgain(f"fetch error {response.error_code}")
        data: PartitionData = response.responses[0].partitions[0]
        return data

    async def _take(self, data: PartitionData, position: int) -> None:
        known = self._link.known
        if 0 <= data.current_leader.leader_epoch < known.epoch:
            known.turn_from(known.address)
            raise _TryAgain("an answer of a deposed controller")
        known.saw(data.current_leader.leader_epoch)
        error = ErrorCode(data.error_code)
        if data.snapshot_id.end_offset >= 0:
            await self._load_snapshot(data.snapshot_id.end_offset, data.snapshot_id.epoch)
        elif error is ErrorCode.OFFSET_OUT_OF_RANGE and position < data.log_start_offset:
            await self._load_snapshot(-1, -1)
        elif error is ErrorCode.OFFSET_OUT_OF_RANGE:
            raise MetadataDiverged(f"metadata up to {position - 1} is applied here, the controller's log has less")
        elif error is not ErrorCode.NONE:
            raise _TryAgain(error.name)
        elif data.diverging_epoch.end_offset >= 0:
            raise MetadataDiverged(
                f"metadata up to {position - 1} is of another epoch here than in the controller's log"
            )
        else:
            self._apply(self._decoded(data.records or b""), position)
            if self.image.offset + 1 >= data.high_watermark:
                self.caught_up.set()

    def _decoded(self, content: bytes | bytearray | memoryview) -> list[tuple[int, MetadataRecord]]:
        try:
            return [(each.offset, decode_record(each.key, each.value)) for each in decode_batches(content)]
        except RecordError as error:
            raise MetadataUnreadable(f"node {self._node_id} cannot read the metadata log: {error}") from error
        except RecordsError as error:
            raise MetadataDiverged(f"unreadable metadata: {error}") from error

    def _apply(self, records: list[tuple[int, MetadataRecord]], position: int) -> None:
        fresh = [(offset, record) for offset, record in records if offset >= position]
        if not fresh:
            return
        try:
            for offset, record in fresh:
                self.image.apply(record, offset)
        except ClusterError as error:
            raise MetadataDiverged(str(error)) from error
        self._tell([record for _, record in fresh])

    async def _load_snapshot(self, end_offset: int, epoch: int) -> None:
        """Replace the image by the controller's newest snapshot (or the one it named)."""
        content = bytearray()
        snapshot_id = SnapshotId(end_offset=end_offset, epoch=epoch)
        while True:
            partition = RequestPartitionSnapshot(snapshot_id=snapshot_id, position=len(content))
            request = FetchSnapshotRequest(
                replica_id=self._node_id,
                max_bytes=FETCH_MAX_BYTES,
                topics=[RequestTopicSnapshot(name=METADATA_TOPIC, partitions=[partition])],
            )
            response = await self._link.request(request, timeout_ms=REQUEST_TIMEOUT_MS)
            if response.error_code or not response.topics or not response.topics[0].partitions:
                raise _TryAgain(f"snapshot error {response.error_code}")
            answer = response.topics[0].partitions[0]
            if answer.error_code:
                raise _TryAgain(f"snapshot error {answer.error_code}")
            snapshot_id = answer.snapshot_id
            content += answer.unaligned_records
            if len(content) >= answer.size or not answer.unaligned_records:
                break
            if len(content) > SNAPSHOT_MAX_BYTES:
                raise MetadataDiverged(f"a snapshot of more than {SNAPSHOT_MAX_BYTES} bytes")
        if len(content) < answer.size:
            raise _TryAgain("the snapshot ended early")
        self._replace([record for _, record in self._decoded(content)], snapshot_id.end_offset)

    def _replace(self, records: list[MetadataRecord], end_offset: int) -> None:
        if end_offset <= self.image.offset:
            raise MetadataDiverged(f"a snapshot up to {end_offset - 1}, metadata up to {self.image.offset} is applied")
        before = self.image.cluster_id
        try:
            self.image = Image.of(records, end_offset - 1)
        except ClusterError as error:
            raise MetadataDiverged(str(error)) from error
        if before is not None and before != self.image.cluster_id:
            raise MetadataDiverged(f"the controller's log is of cluster {self.image.cluster_id}, not {before}")
        logger.info("metadata snapshot loaded node=%d offset=%d", self._node_id, self.image.offset)
        self._tell(records)

    def _tell(self, records: Sequence[MetadataRecord]) -> None:
        elected = self.image.controller
        if elected is not None:
            self._link.known.saw(elected.epoch, (elected.host, elected.port))
        self._on_records(self.image, records)
        advanced, self._advanced = self._advanced, asyncio.Event()
        advanced.set()
