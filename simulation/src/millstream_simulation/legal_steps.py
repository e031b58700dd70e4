"""What may follow what in the logs of coordinators: judged record by record, from what was before each."""

from millstream_coordinator.core.classic.records import GroupStored
from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.consumer.member import CurrentAssignment
from millstream_coordinator.core.consumer.records import CurrentStored, GroupEpochStored
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.transactions.machine import TransactionShard
from millstream_coordinator.core.transactions.records import TransactionRecord, TransactionStored
from millstream_coordinator.core.transactions.transaction import Transaction, TransactionState
from millstream_simulation.story import Violation

State = TransactionState

_NEXT: dict[State, frozenset[State]] = {
    State.EMPTY: frozenset({State.EMPTY, State.ONGOING, State.COMPLETE_ABORT}),
    State.ONGOING: frozenset({State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT}),
    State.PREPARE_COMMIT: frozenset({State.COMPLETE_COMMIT}),
    State.PREPARE_ABORT: frozenset({State.COMPLETE_ABORT}),
    State.COMPLETE_COMMIT: frozenset({State.EMPTY, State.ONGOING, State.COMPLETE_ABORT}),
    State.COMPLETE_ABORT: frozenset({State.EMPTY, State.ONGOING, State.COMPLETE_ABORT}),
    State.DEAD: frozenset(),
}
"""COMPLETE_ABORT from a state in which nothing is under way: version 2 aborts what was never registered."""


def judge_transaction_record(shard: TransactionShard, record: TransactionRecord) -> None:
    """Before the record is applied."""
    if not isinstance(record, TransactionStored):
        return
    after = record.transaction
    before = shard.transactions.get(after.transactional_id)
    if before is not None and (wrong := _wrong_step(before, after)):
        raise Violation(f"{after.transactional_id}: {wrong}: from {before} to {after}")


def _wrong_step(before: Transaction, after: Transaction) -> str | None:
    epoch_before, epoch_after = (before.producer_id, before.producer_epoch), (after.producer_id, after.producer_epoch)
    if after.state not in _NEXT[before.state]:
        return "not a legal step"
    if epoch_after < epoch_before:
        return "its epoch went back"
    if after.state is State.EMPTY and epoch_after == epoch_before:
        return "a new producer has its predecessor's epoch"
    if after.state is State.ONGOING and before.state is State.ONGOING and not after.partitions >= before.partitions:
        return "a transaction under way lost partitions"
    if after.state.is_prepared and after.partitions != before.partitions:
        return "a transaction ends elsewhere than it was"
    return None


def judge_group_record(shard: GroupShard, record: ShardRecord) -> None:
    """Before the record is applied."""
    match record:
        case GroupStored(after):
            before = shard.stored.get(after.group_id)
            if before is not None and after.generation < before.generation:
                raise Violation(
                    f"group {after.group_id} went from generation {before.generation} to {after.generation}"
                )
        case GroupEpochStored(group_id, value) if value is not None and group_id in shard.consumers:
            if value.epoch < shard.consumers[group_id].epoch:
                raise Violation(f"group {group_id} went from epoch {shard.consumers[group_id].epoch} to {value.epoch}")
        case CurrentStored(group_id, member_id, current) if current is not None and group_id in shard.consumers:
            _judge_current(shard.consumers[group_id], member_id, current)


def _judge_current(group: ConsumerGroup, member_id: str, after: CurrentAssignment) -> None:
    before = group.currents.get(member_id)
    if before is not None and 0 <= after.epoch < before.epoch:
        raise Violation(f"group {group.group_id}: {member_id} went from epoch {before.epoch} to {after.epoch}")
    for partition in after.owned:
        owner = group.owners.get(partition, member_id)
        if owner != member_id:
            raise Violation(f"group {group.group_id}: {member_id} gets {partition}, and {owner} did not give it up")
