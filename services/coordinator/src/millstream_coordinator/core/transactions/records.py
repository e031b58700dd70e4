"""The facts that the log of a transaction shard is made of; their bytes are `record_format`'s affair."""

from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.core.transactions.transaction import Transaction
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TransactionStored:
    transaction: Transaction


@dataclass(frozen=True, slots=True)
class TransactionRemoved:
    transactional_id: str


@dataclass(frozen=True, slots=True)
class TermBegan:
    """The coordinator epoch of the markers that the shard's owner sends; each owner's is higher than those before it."""

    coordinator_epoch: int


TransactionRecord = TransactionStored | TransactionRemoved | TermBegan | ShardClaimed
