"""ShareFetch (API key 78), versions 1 and 2: a member of a share group acquires records (KIP-932, KIP-1206, KIP-1222).

What it says of earlier ones comes first. A fetch that finds too little waits until appends bring enough, records come back,
or its time is over. Whole batches go out as slices of files; which of their records are the member's is told beside them.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any
from uuid import UUID

from millstream_broker.api.share_acknowledge import acknowledge, settled
from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.share.session import FINAL_EPOCH, INITIAL_EPOCH, MemberKey, ShareSession
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.cold_reads import once_loaded
from millstream_broker.shell.leaders import endpoints, leader_elsewhere
from millstream_broker.shell.share.fetching import Given, Look, ShareFetching, Wanted
from millstream_cluster.acls import AclOperation, AclResource
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ShareFetchRequest, ShareFetchResponse
from millstream_wire.messages.share_fetch import (
    AcknowledgementBatch,
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
)

RECORD_LIMIT = 1
"""The acquire mode that keeps to the number of records (KIP-1206)."""


def handle_share_fetch(
    broker: Broker, request: ShareFetchRequest, context: RequestContext
) -> ShareFetchResponse | Coroutine[Any, Any, ShareFetchResponse]:
    if not broker.share_groups.are_on:
        return ShareFetchResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    refused = refuse_all(request, context, AclOperation.READ, AclResource.GROUP, request.group_id or "")
    if refused is not None:
        return refused
    if not request.group_id or not request.member_id or not _is_sound(request):
        return ShareFetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    member = MemberKey(request.group_id, request.member_id)
    session = _session(broker, request, member, context)
    if isinstance(session, ErrorCode):
        return ShareFetchResponse(error_code=session)
    return _ShareFetch(broker, request, context, session).answer()


def _is_sound(request: ShareFetchRequest) -> bool:
    """A first request has nothing to acknowledge, a renewal fetches nothing."""
    said = [bool(partition.acknowledgement_batches) for topic in request.topics for partition in topic.partitions]
    if request.is_renew_ack and (request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms):
        return False
    return request.share_session_epoch != INITIAL_EPOCH or not any(said)


def _session(
    broker: Broker, request: ShareFetchRequest, member: MemberKey, context: RequestContext
) -> ShareSession | ErrorCode:
    """Begin or go on with the member's session."""
    groups = broker.share_groups
    partitions = [(topic.topic_id, each.partition_index) for topic in request.topics for each in topic.partitions]
    if request.share_session_epoch == INITIAL_EPOCH:
        opened = groups.sessions.open(member, partitions, context.connection.number)
        if isinstance(opened, ErrorCode):
            return opened
        session, before = opened
        if before is not None:
            groups.end(before)
        groups.end_with(context.connection)
        return session
    found = groups.sessions.go_on(member, request.share_session_epoch)
    if not isinstance(found, ErrorCode) and request.share_session_epoch != FINAL_EPOCH:
        forgotten = [(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions]
        found.change(partitions, forgotten)
    return found


class _ShareFetch:
    """One request on its way: acknowledge, look, perhaps wait and look again, give and answer once."""

    __slots__ = ("_answers", "_broker", "_context", "_request", "_session")

    def __init__(
        self, broker: Broker, request: ShareFetchRequest, context: RequestContext, session: ShareSession
    ) -> None:
        self._broker = broker
        self._request = request
        self._context = context
        self._session = session
        said: dict[ReplicaKey, Sequence[AcknowledgementBatch]] = {
            (topic.topic_id, partition.partition_index): partition.acknowledgement_batches
            for topic in request.topics
            for partition in topic.partitions
            if partition.acknowledgement_batches
        }
        self._answers = acknowledge(broker, session.key, said, is_renewal=request.is_renew_ack, context=context)
        if self._is_last:
            broker.share_groups.end(session)

    @property
    def _is_last(self) -> bool:
        return self._request.share_session_epoch == FINAL_EPOCH

    @property
    def _asks_for_nothing(self) -> bool:
        return 0 in (self._request.max_records, self._request.max_bytes)

    async def answer(self) -> ShareFetchResponse:
        acknowledged = await settled(self._answers)
        look, given = Look(), list[Given]()
        if not self._is_last and not self._request.is_renew_ack:
            look, given = await self._fetch()
        return self._respond(acknowledged, look.errors, given)

    async def _fetch(self) -> tuple[Look, list[Given]]:
        request, broker = self._request, self._broker
        wanted = Wanted(
            records_max=request.max_records,
            bytes_max=self._bytes_max(),
            bytes_min=request.min_bytes,
            batch_size=request.batch_size,
            strict=request.share_acquire_mode == RECORD_LIMIT,
        )
        if wanted.records_max < 1 or wanted.bytes_max < 1:
            return Look(), []
        fetching = ShareFetching(broker, self._session, wanted, self._context)
        deadline_ms = self._context.received_at_ms + request.max_wait_ms
        while True:
            looked = once_loaded(broker.world, fetching.look)
            look = looked if isinstance(looked, Look) else await looked
            left_ms = deadline_ms - broker.world.monotonic_ms()
            may_wait = bool(look.places) and left_ms > 0 and not broker.delays.is_closed
            if look.is_enough(wanted) or not may_wait:
                has_found = bool(look.found)
                given = fetching.give(look)
                if given or look.errors or not may_wait:
                    return look, given
                if has_found:
                    continue  # what was there is nobody's: look behind it
                if wanted.bytes_min < 1:
                    return look, given
            look.release()
            await self._wait(look, missing=max(1, wanted.bytes_min - look.size), wait_ms=left_ms)

    def _bytes_max(self) -> int:
        broker = self._broker
        bytes_max = min(self._request.max_bytes, broker.config.fetch_max_bytes)
        if broker.throttling.fetch.active:
            bytes_max = min(bytes_max, broker.throttling.fetch_max_bytes(self._context) or bytes_max)
        return bytes_max

    async def _wait(self, look: Look, *, missing: int, wait_ms: int) -> None:
        """Until so much was appended, something comes back, or the time is over."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake(_: bool) -> None:
            if not woken.done():
                woken.set_result(None)

        waiting = self._broker.delays.wait(wake, look.places, missing=missing, wait_ms=wait_ms)
        try:
            await woken
        finally:
            self._broker.delays.cancel(waiting)

    # ---- answering ----

    def _respond(
        self, acknowledged: dict[ReplicaKey, ErrorCode], errors: dict[ReplicaKey, ErrorCode], given: Sequence[Given]
    ) -> ShareFetchResponse:
        broker, group_id = self._broker, self._session.key.group_id
        parts: dict[ReplicaKey, PartitionData] = {}
        if self._request.share_session_epoch == INITIAL_EPOCH and not self._asks_for_nothing:
            parts = {key: _nothing(key) for key in self._session.partitions}
        for key, code in acknowledged.items():
            part = parts.setdefault(key, _nothing(key))
            part.acknowledge_error_code = code
        for key, code in errors.items():
            parts.setdefault(key, _nothing(key)).error_code = code
        for each in given:
            part = parts.setdefault(each.key, PartitionData(partition_index=each.key[1]))
            part.records = each.slice
            part.acquired_records = [
                AcquiredRecords(
                    first_offset=acquired.start, last_offset=acquired.end - 1, delivery_count=acquired.deliveries
                )
                for acquired in each.acquired
            ]
        broker.metrics.fetched_bytes += sum(len(each.slice) for each in given)
        response = ShareFetchResponse(
            acquisition_lock_timeout_ms=broker.share_groups.partitions.settings(group_id).limits.lock_ms,
            responses=_by_topic(parts),
            node_endpoints=self._leaders(parts),
        )
        if broker.throttling.fetch.active:
            sent = ((each.shared.replica, len(each.slice)) for each in given)
            response.throttle_time_ms = broker.throttling.fetched(sent, self._context)
        return response

    def _leaders(self, parts: dict[ReplicaKey, PartitionData]) -> list[NodeEndpoint]:
        """Say of partitions that are led elsewhere where; the endpoints of those brokers."""
        image, leaders = self._broker.image, list[int]()
        for key, part in parts.items():
            partition = leader_elsewhere(image, *key, part.error_code or part.acknowledge_error_code)
            if partition is not None:
                part.current_leader = LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)
                leaders.append(partition.leader)
        return [
            NodeEndpoint(node_id=node_id, host=endpoint.host, port=endpoint.port, rack=rack)
            for node_id, endpoint, rack in endpoints(image, leaders, self._context.listener_name)
        ]


def _nothing(key: ReplicaKey) -> PartitionData:
    return PartitionData(partition_index=key[1], current_leader=LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1))


def _by_topic(parts: dict[ReplicaKey, PartitionData]) -> list[ShareFetchableTopicResponse]:
    topics: dict[UUID, ShareFetchableTopicResponse] = {}
    for (topic_id, _), part in parts.items():
        topics.setdefault(topic_id, ShareFetchableTopicResponse(topic_id=topic_id)).partitions.append(part)
    return list(topics.values())
