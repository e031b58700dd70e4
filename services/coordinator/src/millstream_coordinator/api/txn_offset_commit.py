"""TxnOffsetCommit (API key 28), versions 0 to 6: offsets of a group that are committed if their transaction is.

The transaction's coordinator is asked whether it knows of the group, as brokers ask before they take a first batch (KIP-890);
from version 5 on, that of transactions version 2, it is told. From version 6 topics are named by their ids (KIP-1319).
"""

import asyncio

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.members import Topic
from millstream_coordinator.core.commands.offsets import CommitRequest, OffsetToCommit
from millstream_coordinator.core.commands.transactional_offsets import TransactionalCommit, commit_in_transaction
from millstream_coordinator.core.group.partitions import TopicPartition
from millstream_coordinator.core.journal.bounds import fits
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_coordinator.shell.groups.groups import Groups
from millstream_coordinator.shell.offset_rights import permits_topic
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_all, refuse_where
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from millstream_wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

ABORTABLE_SINCE = 4
"""The first version whose clients know TRANSACTION_ABORTABLE."""
ADDS_SINCE = 5
TOPIC_IDS_SINCE = 6
EPOCHS_SINCE = 6
"""The first version whose clients know STALE_MEMBER_EPOCH and GROUP_ID_NOT_FOUND; generations are all that older ones know."""
_RETRIED = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


async def handle_txn_offset_commit(
    coordinator: Coordinator, request: TxnOffsetCommitRequest, context: RequestContext
) -> TxnOffsetCommitResponse:
    transactional_id = request.transactional_id
    denied = refuse_all(request, context, AclOperation.WRITE, AclResource.TRANSACTIONAL_ID, transactional_id)
    denied = denied or refuse_all(request, context, AclOperation.READ, AclResource.GROUP, request.group_id)
    if denied is not None:
        return denied
    by_id = context.version >= TOPIC_IDS_SINCE
    may_read = permits_topic(coordinator.image, context, AclOperation.READ, by_id=by_id)
    denied = refuse_where(request, context, "topics", may_read, AclOperation.READ)
    return joined(await _commit_permitted(coordinator, request, context), denied)


async def _commit_permitted(
    coordinator: Coordinator, request: TxnOffsetCommitRequest, context: RequestContext
) -> TxnOffsetCommitResponse:
    groups = coordinator.groups_of(request.group_id) if request.group_id else ErrorCode.INVALID_GROUP_ID
    response = TxnOffsetCommitResponse()
    accepted: list[OffsetToCommit] = []
    answers: list[TxnOffsetCommitResponsePartition] = []
    for topic in request.topics:
        answer = TxnOffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        found = coordinator.image.topic(topic.topic_id if context.version >= TOPIC_IDS_SINCE else topic.name)
        response.topics.append(answer)
        for partition in topic.partitions:
            error = _refusal(coordinator, found, partition, context.version)
            answered = TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error)
            answer.partitions.append(answered)
            if found is not None and error is ErrorCode.NONE:
                accepted.append(_offset(found, partition))
                answers.append(answered)
    error = await _commit(coordinator, groups, request, tuple(accepted), context.version)
    for answered in answers:
        answered.error_code = error
    return response


async def _commit(
    coordinator: Coordinator,
    groups: Groups | ErrorCode,
    request: TxnOffsetCommitRequest,
    accepted: tuple[OffsetToCommit, ...],
    version: int,
) -> ErrorCode:
    if not accepted:
        return ErrorCode.NONE
    if isinstance(groups, ErrorCode):
        return groups
    markers = groups.shard.pending.markers(request.producer_id)
    error = await _verify(coordinator, request, version)
    if error is not ErrorCode.NONE:
        return error
    wanted = TransactionalCommit(
        commit=CommitRequest(
            group_id=request.group_id,
            generation=request.generation_id_or_member_epoch,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            offsets=accepted,
            names_missing_group=version >= EPOCHS_SINCE,
            knows_epochs=True,
        ),
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        markers=markers,
    )
    outcome = await coordinator.committed(
        groups.execute(lambda shard, now_ms: commit_in_transaction(shard, wanted, now_ms))
    )
    if outcome is ErrorCode.STALE_MEMBER_EPOCH and version < EPOCHS_SINCE:
        return ErrorCode.ILLEGAL_GENERATION
    return outcome


async def _verify(coordinator: Coordinator, request: TxnOffsetCommitRequest, version: int) -> ErrorCode:
    partition = coordinator.transaction_nodes.offsets_partition(request.group_id)
    if partition is None:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = await _ask_coordinator(coordinator, request, partition, verify_only=version < ADDS_SINCE)
    if error in _RETRIED:
        return (
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        )  # the other coordinator's trouble: this one need not be looked for anew
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_SINCE:
        return ErrorCode.INVALID_TXN_STATE
    return error


async def _ask_coordinator(
    coordinator: Coordinator, request: TxnOffsetCommitRequest, partition: TopicPartition, *, verify_only: bool
) -> ErrorCode:
    """As brokers do, wait a moment for the end of the transaction before, rather than have the client ask again."""
    limits = coordinator.config.transactions
    patience_ms = 0 if verify_only else limits.add_partitions_retry_max_ms
    while True:
        error = await coordinator.transaction_nodes.verify(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            partition,
            verify_only=verify_only,
        )
        if error is not ErrorCode.CONCURRENT_TRANSACTIONS or patience_ms <= 0:
            return error
        await asyncio.sleep(limits.add_partitions_retry_backoff_ms / 1000)
        patience_ms -= limits.add_partitions_retry_backoff_ms


def _refusal(
    coordinator: Coordinator, found: Topic | None, partition: TxnOffsetCommitRequestPartition, version: int
) -> ErrorCode:
    metadata = partition.committed_metadata or ""
    if found is None and version >= TOPIC_IDS_SINCE:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if found is None or not 0 <= partition.partition_index < len(found.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if len(metadata) > coordinator.config.offset_metadata_max_bytes or not fits(metadata):
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def _offset(found: Topic, partition: TxnOffsetCommitRequestPartition) -> OffsetToCommit:
    return OffsetToCommit(
        topic_id=found.topic_id,
        topic=found.name,
        partition=partition.partition_index,
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
    )
