"""A shard of transactions: the transactional ids that hash to one partition of `__transaction_state`.

`apply` is the only writer; the decisions are beside it, one file per kind of command.
"""

from typing import assert_never

from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.core.transactions.records import (
    TermBegan,
    TransactionRecord,
    TransactionRemoved,
    TransactionStored,
)
from millstream_coordinator.core.transactions.transaction import Transaction


class TransactionShard:
    """Invariant (`check`): every transaction is under its own id and sound by itself."""

    def __init__(self) -> None:
        self.transactions: dict[str, Transaction] = {}
        self.coordinator_epoch = -1

    def apply(self, record: TransactionRecord) -> None:
        match record:
            case TransactionStored():
                self.transactions[record.transaction.transactional_id] = record.transaction
            case TransactionRemoved():
                self.transactions.pop(record.transactional_id, None)
            case TermBegan():
                self.coordinator_epoch = record.coordinator_epoch
            case ShardClaimed():
                pass
            case _:
                assert_never(record)

    def next_term(self, producer_epoch: int) -> TermBegan:
        """For an owner that claimed the shard with this epoch, which begins anew with each producer id that the shard gets."""
        return TermBegan(max(self.coordinator_epoch + 1, producer_epoch))

    def check(self) -> None:
        for transactional_id, transaction in self.transactions.items():
            assert transaction.transactional_id == transactional_id
            transaction.check()
