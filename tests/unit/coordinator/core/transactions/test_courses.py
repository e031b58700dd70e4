"""A shard of transactions: who may do what when, and that the log alone gives the live state after any course of commands."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from transaction_course import PARTITIONS, TIMEOUT_MAX_MS, Live, State, started

from millstream_cluster.decision import Decision
from millstream_coordinator.core.transactions.courses import Producer, abort_overdue, add_partitions, verify_partitions
from millstream_coordinator.core.transactions.transaction import EPOCH_LAST, Transaction
from millstream_wire.errors import ErrorCode


def test_a_transaction_from_its_beginning_to_its_end() -> None:
    live = Live()
    producer = started(live)
    assert live.state() is State.EMPTY
    assert live.end(producer, commit=True) is ErrorCode.INVALID_TXN_STATE
    assert live.add(producer, *PARTITIONS[:2]) is ErrorCode.NONE
    live.now_ms += 5
    assert live.add(producer, PARTITIONS[2]) is ErrorCode.NONE
    known = live.shard.transactions["x"]
    assert (known.state, known.start_ms, known.partitions) == (State.ONGOING, 1_000, frozenset(PARTITIONS))
    assert live.end(producer, commit=True) is ErrorCode.NONE
    assert live.state() is State.PREPARE_COMMIT
    # Nothing else while the markers are on their way, and no change of mind.
    assert live.add(producer, PARTITIONS[0]) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert live.end(producer, commit=True) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert live.end(producer, commit=False) is ErrorCode.INVALID_TXN_STATE
    assert live.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert live.complete()
    assert live.state() is State.COMPLETE_COMMIT
    assert live.end(producer, commit=True) is ErrorCode.NONE
    assert live.end(producer, commit=False) is ErrorCode.INVALID_TXN_STATE


def test_partitions_already_there_are_not_written_again() -> None:
    live = Live()
    producer = started(live)
    live.add(producer, PARTITIONS[0])
    assert add_partitions(live.shard, producer, PARTITIONS[:1], 2_000).records == ()


def test_only_the_transactions_own_partitions_are_confirmed() -> None:
    live = Live()
    producer = started(live)
    live.add(producer, PARTITIONS[0])
    assert verify_partitions(live.shard, producer, PARTITIONS[:2]) == {
        PARTITIONS[0]: ErrorCode.NONE,
        PARTITIONS[1]: ErrorCode.TRANSACTION_ABORTABLE,
    }
    older = Producer("x", producer.producer_id, producer.epoch - 1)
    assert verify_partitions(live.shard, older, PARTITIONS[:1]) is ErrorCode.PRODUCER_FENCED
    other = Producer("x", producer.producer_id + 1, producer.epoch)
    assert verify_partitions(live.shard, other, PARTITIONS[:1]) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    live.end(producer, commit=False)
    assert verify_partitions(live.shard, producer, PARTITIONS[:1]) is ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_newer_producer_aborts_what_the_older_has_under_way_and_fences_it() -> None:
    live = Live()
    older = started(live)
    live.add(older, PARTITIONS[0])
    assert live.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert live.state() is State.PREPARE_ABORT
    assert live.end(older, commit=True) is ErrorCode.PRODUCER_FENCED
    live.complete()
    newer = started(live)
    assert (newer.producer_id, newer.epoch) == (older.producer_id, older.epoch + 2)
    assert live.add(older, PARTITIONS[0]) is ErrorCode.PRODUCER_FENCED
    assert live.add(newer, PARTITIONS[0]) is ErrorCode.NONE


def test_a_producer_that_asks_for_its_next_epoch_again_gets_the_same() -> None:
    live = Live()
    first = started(live)
    was = (first.producer_id, first.epoch)
    given = live.init(was=was)
    assert given.producer_epoch == first.epoch + 1
    assert live.init(was=was) == given
    # A newer producer came: now it is a zombie that asks.
    live.init()
    assert live.init(was=was).error is ErrorCode.PRODUCER_FENCED


def test_epochs_run_out_into_a_new_producer_id() -> None:
    live = Live()
    first = started(live)
    for _ in range(EPOCH_LAST):
        last = live.init()
    assert (last.producer_id, last.producer_epoch) == (first.producer_id, EPOCH_LAST)
    was = (last.producer_id, last.producer_epoch)
    given = live.init(was=was)
    assert (given.producer_id != first.producer_id, given.producer_epoch) == (True, 0)
    assert live.init(was=was) == given
    producer = Producer("x", given.producer_id, 0)
    assert live.add(Producer("x", *was), PARTITIONS[0]) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert live.add(producer, PARTITIONS[0]) is ErrorCode.NONE


def test_a_transaction_that_takes_too_long_is_aborted_under_an_epoch_that_its_producer_does_not_have() -> None:
    live = Live()
    producer = started(live)
    live.add(producer, PARTITIONS[0])
    live.now_ms += 59_999
    assert not live.do(abort_overdue(live.shard, "x", live.now_ms))
    live.now_ms += 1
    assert live.do(abort_overdue(live.shard, "x", live.now_ms))
    assert live.shard.transactions["x"].producer_epoch == producer.epoch + 1
    assert live.end(producer, commit=True) is ErrorCode.PRODUCER_FENCED


def test_a_producer_whose_transaction_took_too_long_can_ask_for_the_epoch_after_it() -> None:
    live = Live()
    producer = started(live)
    was = (producer.producer_id, producer.epoch)
    live.add(producer, PARTITIONS[0])
    live.now_ms += 60_000
    live.do(abort_overdue(live.shard, "x", live.now_ms))
    assert live.init(was=was).error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert live.complete()
    for _ in range(2):
        given = live.init(was=was)
        assert (given.producer_id, given.producer_epoch) == (producer.producer_id, producer.epoch + 1)
        assert live.state() is State.EMPTY
    live.init()
    assert live.init(was=was).error is ErrorCode.PRODUCER_FENCED


def test_the_epoch_after_the_last_is_given_to_nobody() -> None:
    live = Live()
    first = started(live)
    for _ in range(EPOCH_LAST):
        last = live.init()
    was = (first.producer_id, last.producer_epoch)
    live.add(Producer("x", *was), PARTITIONS[0])
    assert live.init().error is ErrorCode.CONCURRENT_TRANSACTIONS
    assert live.complete()
    assert live.init(was=was).error is ErrorCode.PRODUCER_FENCED
    assert live.init().producer_epoch == 0


def test_what_cannot_be_asked_for() -> None:
    live = Live()
    assert live.init("").error is ErrorCode.INVALID_REQUEST
    for timeout_ms in (0, -1, TIMEOUT_MAX_MS + 1):
        assert live.init(timeout_ms=timeout_ms).error is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert live.add(Producer("nobody", 1, 0), PARTITIONS[0]) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert live.log == []


def test_each_owner_has_a_higher_term_even_when_the_claims_epochs_begin_anew() -> None:
    live = Live()
    for producer_epoch, expected in ((3, 3), (4, 4), (9, 9), (32_767, 32_767), (0, 32_768), (1, 32_769)):
        live.shard = live.replayed()
        live.do(Decision((live.shard.next_term(producer_epoch),), None))
        assert live.shard.coordinator_epoch == live.replayed().coordinator_epoch == expected


class AnyCourse(RuleBasedStateMachine):
    """Commands of producers of both versions, late and current, in any order, with crashes of the shard's owner in between."""

    def __init__(self) -> None:
        super().__init__()
        self.live = Live()
        self.producers: list[Producer] = []
        self.decided: dict[Producer, bool] = {}

    ids = st.sampled_from(["x", "y"])
    partitions = st.lists(st.sampled_from(PARTITIONS), min_size=1)

    @rule(transactional_id=ids)
    def init(self, transactional_id: str) -> None:
        given = self.live.init(transactional_id)
        if given.error is ErrorCode.NONE:
            producer = Producer(transactional_id, given.producer_id, given.producer_epoch)
            assert producer not in self.producers  # no two are ever given the same epoch
            self.producers.append(producer)

    @rule(data=st.data(), partitions=partitions, bumping=st.booleans())
    def add(self, data: st.DataObject, partitions: list[tuple[str, int]], bumping: bool) -> None:
        if self.producers:
            producer = data.draw(st.sampled_from(self.producers))
            error = self.live.add(producer, *partitions, bumping=bumping)
            assert error is not ErrorCode.NONE or self.is_latest(producer)

    @rule(data=st.data(), commit=st.booleans())
    def end(self, data: st.DataObject, commit: bool) -> None:
        if self.producers:
            producer = data.draw(st.sampled_from(self.producers))
            error = self.live.end(producer, commit=commit)
            assert error is not ErrorCode.NONE or self.is_latest(producer)

    @rule(data=st.data(), commit=st.booleans())
    def end_and_bump(self, data: st.DataObject, commit: bool) -> None:
        if not self.producers:
            return
        producer = data.draw(st.sampled_from(self.producers))
        ended = self.live.end_and_bump(producer, commit=commit)
        if ended.error is ErrorCode.NONE:
            # However often it is asked, a transaction ends in one way, and its producer goes on with one epoch.
            assert self.decided.setdefault(producer, commit) is commit
            following = Producer(producer.transactional_id, ended.producer_id, ended.producer_epoch)
            assert following != producer
            if following not in self.producers:
                self.producers.append(following)

    @rule(transactional_id=ids)
    def complete(self, transactional_id: str) -> None:
        known = self.live.shard.transactions.get(transactional_id)
        if known is not None and known.state.is_prepared:
            committed = known.state is State.PREPARE_COMMIT
            assert self.live.complete(transactional_id)
            assert self.live.state(transactional_id) is (State.COMPLETE_COMMIT if committed else State.COMPLETE_ABORT)

    @rule(elapsed_ms=st.sampled_from([1, 30_000, 60_000]), transactional_id=ids)
    def pass_time(self, elapsed_ms: int, transactional_id: str) -> None:
        self.live.now_ms += elapsed_ms
        self.live.do(abort_overdue(self.live.shard, transactional_id, self.live.now_ms))

    @rule()
    def crash(self) -> None:
        self.live.shard = self.live.replayed()

    @invariant()
    def the_log_gives_the_live_state(self) -> None:
        assert self.live.replayed().transactions == self.live.shard.transactions

    def is_latest(self, producer: Producer) -> bool:
        known: Transaction = self.live.shard.transactions[producer.transactional_id]
        return (known.producer_id, known.producer_epoch) == (producer.producer_id, producer.epoch)


AnyCourse.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestAnyCourse = AnyCourse.TestCase
