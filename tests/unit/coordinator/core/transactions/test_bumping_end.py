"""The end of a transaction under version 2: each ends together with its producer's epoch, and what is late is told from what is next."""

from dataclasses import replace

from transaction_course import PARTITIONS, Live, State, started

from millstream_coordinator.core.transactions.bumping_end import Ended
from millstream_coordinator.core.transactions.courses import Producer, abort_overdue
from millstream_coordinator.core.transactions.records import TransactionStored
from millstream_coordinator.core.transactions.transaction import EPOCH_LAST
from millstream_wire.errors import ErrorCode

FENCED, INVALID_STATE = Ended(ErrorCode.PRODUCER_FENCED), Ended(ErrorCode.INVALID_TXN_STATE)
CONCURRENT, UNMAPPED = Ended(ErrorCode.CONCURRENT_TRANSACTIONS), Ended(ErrorCode.INVALID_PRODUCER_ID_MAPPING)


def begun(live: Live, producer: Producer) -> Producer:
    assert live.add(producer, *PARTITIONS[:2], bumping=True) is ErrorCode.NONE
    return producer


def going_on(ended: Ended) -> Producer:
    assert ended.error is ErrorCode.NONE
    return Producer("x", ended.producer_id, ended.producer_epoch)


def at_the_last_epoch(live: Live) -> Producer:
    producer = started(live)
    known = replace(live.shard.transactions["x"], producer_epoch=EPOCH_LAST)
    live.shard.apply(TransactionStored(known))
    return replace(producer, epoch=EPOCH_LAST)


def test_the_end_gives_the_producer_its_next_epoch_and_the_markers_carry_it() -> None:
    live = Live()
    producer = begun(live, started(live))
    ended = live.end_and_bump(producer, commit=True)
    assert ended == Ended(ErrorCode.NONE, producer.producer_id, producer.epoch + 1)
    known = live.shard.transactions["x"]
    assert (known.state, known.producer_epoch, known.client_version) == (State.PREPARE_COMMIT, 1, 2)
    following = going_on(ended)
    # The next transaction cannot begin before the markers of this one are written, the last one cannot go on.
    assert live.add(following, PARTITIONS[0], bumping=True) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert live.add(producer, PARTITIONS[0], bumping=True) is ErrorCode.PRODUCER_FENCED
    live.complete()
    assert live.state() is State.COMPLETE_COMMIT
    assert live.add(producer, PARTITIONS[0], bumping=True) is ErrorCode.PRODUCER_FENCED
    assert live.add(following, PARTITIONS[0], bumping=True) is ErrorCode.NONE


def test_asked_again_it_ends_no_other_transaction() -> None:
    live = Live()
    producer = begun(live, started(live))
    ended = live.end_and_bump(producer, commit=True)
    assert live.end_and_bump(producer, commit=True) == CONCURRENT
    live.complete()
    assert live.end_and_bump(producer, commit=True) == ended
    assert live.end_and_bump(producer, commit=False) == INVALID_STATE
    following = begun(live, going_on(ended))
    assert live.end_and_bump(producer, commit=True) == FENCED
    assert live.state() is State.ONGOING
    assert live.end_and_bump(following, commit=False).producer_epoch == 2


def test_what_was_never_begun_can_be_aborted_but_not_committed() -> None:
    live = Live()
    producer = started(live)
    assert live.end_and_bump(producer, commit=True) == INVALID_STATE
    first = live.end_and_bump(producer, commit=False)
    assert (live.state(), first.producer_epoch) == (State.COMPLETE_ABORT, 1)
    assert live.end_and_bump(producer, commit=False) == first
    # Whatever it had sent before is refused: it is of another epoch.
    assert live.add(producer, PARTITIONS[0], bumping=True) is ErrorCode.PRODUCER_FENCED
    following = begun(live, going_on(first))
    live.end_and_bump(following, commit=True)
    live.complete()
    second = Producer("x", producer.producer_id, 2)
    assert live.end_and_bump(second, commit=True) == INVALID_STATE
    assert live.end_and_bump(second, commit=False).producer_epoch == 3


def test_used_up_epochs_give_another_producer_id_once_the_markers_are_written() -> None:
    live = Live()
    producer = begun(live, at_the_last_epoch(live))
    ended = live.end_and_bump(producer, commit=True)
    assert (ended.producer_id != producer.producer_id, ended.producer_epoch) == (True, 0)
    known = live.shard.transactions["x"]
    assert (known.producer_id, known.producer_epoch) == (producer.producer_id, EPOCH_LAST + 1)
    assert live.replayed().transactions == {"x": known}
    following = going_on(ended)
    assert live.add(following, PARTITIONS[0], bumping=True) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert live.end_and_bump(following, commit=False) == CONCURRENT
    assert live.init(was=(following.producer_id, 0)).error is ErrorCode.CONCURRENT_TRANSACTIONS
    live.complete()
    assert live.end_and_bump(producer, commit=True) == ended
    assert live.add(producer, PARTITIONS[0], bumping=True) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    begun(live, following)
    assert live.end_and_bump(producer, commit=True) == UNMAPPED


def test_an_empty_abort_at_the_last_epoch_gives_another_producer_id_at_once() -> None:
    live = Live()
    producer = at_the_last_epoch(live)
    ended = live.end_and_bump(producer, commit=False)
    assert (ended.producer_id != producer.producer_id, ended.producer_epoch) == (True, 0)
    assert live.end_and_bump(producer, commit=False) == ended
    begun(live, going_on(ended))


def test_a_producer_whose_transaction_took_too_long_aborts_it_and_goes_on() -> None:
    live = Live()
    producer = begun(live, started(live))
    live.now_ms += 60_000
    live.do(abort_overdue(live.shard, "x", live.now_ms))
    assert live.end_and_bump(producer, commit=True) == CONCURRENT
    live.complete()
    assert live.end_and_bump(producer, commit=True) == INVALID_STATE
    begun(live, going_on(live.end_and_bump(producer, commit=False)))


def test_the_epoch_that_is_kept_for_fencing_is_given_to_nobody() -> None:
    live = Live()
    producer = begun(live, at_the_last_epoch(live))
    live.now_ms += 60_000
    live.do(abort_overdue(live.shard, "x", live.now_ms))
    live.complete()
    assert live.end_and_bump(producer, commit=False) == FENCED
    given = live.init()
    assert (given.producer_id != producer.producer_id, given.producer_epoch) == (True, 0)


def test_a_producer_of_version_1_shares_its_epoch_with_no_late_one_of_version_2() -> None:
    live = Live()
    late = started(live)
    newer = started(live)
    assert newer.epoch == late.epoch + 1
    live.add(newer, PARTITIONS[0])
    live.end(newer, commit=False)
    live.complete()
    assert live.end_and_bump(late, commit=False) == FENCED


def test_one_that_lost_the_answer_and_asks_for_its_next_epoch_gets_the_same() -> None:
    live = Live()
    producer = begun(live, started(live))
    ended = live.end_and_bump(producer, commit=True)
    live.complete()
    given = live.init(was=(producer.producer_id, producer.epoch))
    assert (given.producer_id, given.producer_epoch) == (ended.producer_id, ended.producer_epoch)


def test_who_is_not_known() -> None:
    live = Live()
    assert live.end_and_bump(Producer("", 1, 0), commit=True) == Ended(ErrorCode.INVALID_REQUEST)
    assert live.end_and_bump(Producer("x", 1, 0), commit=True) == UNMAPPED
    producer = started(live)
    assert live.end_and_bump(replace(producer, producer_id=producer.producer_id + 1), commit=True) == UNMAPPED
    assert live.end_and_bump(replace(producer, epoch=7), commit=False) == FENCED
