"""Transactional ids that nobody uses any more are forgotten (KIP-98): their producers have to begin anew."""

from millstream_cluster.decision import Decision
from millstream_coordinator.core.journal.bounds import Removal
from millstream_coordinator.core.transactions.machine import TransactionShard
from millstream_coordinator.core.transactions.records import TransactionRecord, TransactionRemoved

EXPIRED_MAX = 1_000


def forget_unused(shard: TransactionShard, *, expiration_ms: int, now_ms: int) -> Decision[TransactionRecord, Removal]:
    """Forget ids long unused, some at a time; never one whose transaction has not ended everywhere."""
    unused = [each.transactional_id for each in shard.transactions.values() if each.is_unused(now_ms, expiration_ms)]
    records = tuple(TransactionRemoved(transactional_id) for transactional_id in unused[:EXPIRED_MAX])
    return Decision(records, Removal(more=len(unused) > EXPIRED_MAX))
