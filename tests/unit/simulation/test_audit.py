"""What the audit makes of a coordinator's log: steps are judged, unless compaction may have taken some of them out."""

import pytest

from millstream_cluster.ids import TRANSACTIONS_TOPIC
from millstream_coordinator.core.transactions.record_format import encode_transaction_record
from millstream_coordinator.core.transactions.records import TransactionStored
from millstream_coordinator.core.transactions.transaction import Transaction, TransactionState
from millstream_simulation.audit import PartitionAudit
from millstream_simulation.fetched import Fetched, fetched_from
from millstream_simulation.story import Violation
from millstream_wire.messages.fetch import PartitionData
from millstream_wire.records import Record, encode_batch

ONE, BOTH = frozenset({("paid", 0)}), frozenset({("paid", 0), ("paid", 1)})


def step(offset: int, state: TransactionState, partitions: frozenset[tuple[str, int]]) -> bytes:
    transaction = Transaction(
        transactional_id="t",
        producer_id=1,
        producer_epoch=0,
        timeout_ms=1_000,
        state=state,
        partitions=partitions,
        start_ms=0,
        updated_ms=0,
    )
    key, value = encode_transaction_record(TransactionStored(transaction))
    return encode_batch([Record(offset=0, timestamp=0, key=key, value=value)], base_offset=offset)


def fetched(part: PartitionAudit, *batches: bytes, high_watermark: int) -> Fetched:
    answer = PartitionData(high_watermark=high_watermark, records=b"".join(batches))
    return fetched_from(answer, part.position, committed=False)


@pytest.fixture
def part() -> PartitionAudit:
    return PartitionAudit(TRANSACTIONS_TOPIC, 0)


BEGUN = step(0, TransactionState.ONGOING, ONE)


def test_a_step_that_is_not_legal_is_a_violation(part: PartitionAudit) -> None:
    with pytest.raises(Violation, match="ends elsewhere"):
        part.take(fetched(part, BEGUN, step(1, TransactionState.PREPARE_COMMIT, BOTH), high_watermark=2))


def test_a_log_with_a_gap_is_read_anew_and_judged_from_where_nothing_can_be_missing(part: PartitionAudit) -> None:
    prepared, ended = (
        step(2, TransactionState.PREPARE_COMMIT, BOTH),
        step(3, TransactionState.COMPLETE_COMMIT, frozenset()),
    )
    assert not part.take(fetched(part, BEGUN, prepared, high_watermark=4))
    assert part.position == 0
    assert part.take(fetched(part, BEGUN, prepared, ended, high_watermark=4))
    assert part.is_judged
    with pytest.raises(Violation, match="not a legal step"):
        part.take(fetched(part, step(4, TransactionState.PREPARE_ABORT, ONE), high_watermark=5))


def test_a_gap_that_comes_up_while_it_is_read_anew_puts_the_judgement_off(part: PartitionAudit) -> None:
    prepared = step(5, TransactionState.PREPARE_COMMIT, BOTH)
    assert not part.take(fetched(part, BEGUN, step(2, TransactionState.ONGOING, ONE), high_watermark=4))
    assert part.take(fetched(part, BEGUN, step(3, TransactionState.ONGOING, ONE), prepared, high_watermark=6))
    assert part.is_judged
