"""Transactional requests that are wrong, late or repeated: the same code from us as from Apache Kafka, for clients of both versions."""

import time
from collections.abc import Callable

import pytest
from ask import ask
from kafka_broker import KafkaBroker
from raw_transactions import RawProducer
from servers import ServerProcess, eventually

from millstream_wire.errors import ErrorCode as E
from millstream_wire.messages import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    InitProducerIdRequest,
    ListTransactionsRequest,
)
from millstream_wire.messages.describe_producers import TopicRequest

FENCED = (E.INVALID_PRODUCER_EPOCH, E.PRODUCER_FENCED)
"""What clients of old and of newer versions are told."""


@pytest.fixture(params=["node", "kafka"])
def producer(request: pytest.FixtureRequest, topic: str) -> RawProducer:
    """With an id, a topic and nothing under way."""
    running: ServerProcess | KafkaBroker = request.getfixturevalue(request.param)
    made = RawProducer(running.bootstrap, f"x-{topic}", topic)
    made.create_topic()
    assert made.init() is E.NONE
    return made


def each(versions: tuple[int, ...], call: Callable[[int], object]) -> list[object]:
    return [call(version) for version in versions]


def test_who_may_become_the_producer(producer: RawProducer) -> None:
    for timeout_ms in (0, -1, 900_001):
        assert producer.init(timeout_ms=timeout_ms) is E.INVALID_TRANSACTION_TIMEOUT
    was = producer.producer_id, producer.epoch
    assert producer.init(was=was) is E.NONE
    assert (producer.producer_id, producer.epoch) == (was[0], was[1] + 1)
    asked_again = producer.at()
    assert asked_again.init(was=was) is E.NONE
    assert asked_again.epoch == producer.epoch
    assert producer.at().init(was=(was[0], was[1] + 2)) is E.PRODUCER_FENCED
    for half in ((was[0], -1), (-1, was[1])):
        assert producer.at().init(was=half) is E.INVALID_REQUEST
    assert each((3, 4), lambda version: producer.at().init(was=(was[0] + 1, 0), version=version)) == [*FENCED]
    nobody = RawProducer(producer.bootstrap, "", producer.topic)
    nobody.coordinator = lambda key, key_type: producer.coordinator("x", 1)  # type: ignore[method-assign]
    assert nobody.init() is E.INVALID_REQUEST


def test_ends_of_what_never_began(producer: RawProducer) -> None:
    assert each((0, 2, 4, 5), producer.end) == [E.INVALID_TXN_STATE] * 4
    assert producer.end(4, commit=False) is E.INVALID_TXN_STATE
    before = producer.at()
    assert producer.end(5, commit=False) is E.NONE
    assert (producer.producer_id, producer.epoch) == (before.producer_id, before.epoch + 1)
    again = before.at()
    assert again.end(5, commit=False) is E.NONE
    assert again.epoch == producer.epoch
    assert before.end(5) is E.INVALID_TXN_STATE
    assert producer.end(5) is E.INVALID_TXN_STATE


def test_wrong_epochs_and_ids(producer: RawProducer) -> None:
    ahead, other = producer.at(epoch=producer.epoch + 1), producer.at(producer_id=producer.producer_id + 1)
    unmapped = E.INVALID_PRODUCER_ID_MAPPING
    assert each((1, 2), lambda version: ahead.add(version=version)) == [[code] for code in FENCED]
    assert each((1, 2), lambda version: ahead.add_offsets(version)) == [*FENCED]
    assert each((1, 2, 5), ahead.end) == [*FENCED, E.PRODUCER_FENCED]
    assert each((9, 11, 12), ahead.write) == [E.INVALID_PRODUCER_EPOCH] * 3
    assert each((3, 5), ahead.commit_offset) == [E.INVALID_PRODUCER_EPOCH] * 2
    unknown = producer.at()
    unknown.transactional_id += "-unknown"
    for wrong in (other, unknown):
        assert wrong.add() == [unmapped]
        assert wrong.add_offsets() is unmapped
        assert each((1, 4, 5), wrong.end) == [unmapped] * 3
        assert each((9, 11, 12), wrong.write) == [unmapped] * 3
        assert each((3, 4, 5), wrong.commit_offset) == [unmapped] * 3


def test_what_is_not_registered(producer: RawProducer) -> None:
    assert each((9, 11), producer.write) == [E.INVALID_TXN_STATE, E.TRANSACTION_ABORTABLE]
    assert each((3, 4), producer.commit_offset) == [E.INVALID_TXN_STATE, E.TRANSACTION_ABORTABLE]
    missing = producer.add((producer.topic, 0), ("no-such-topic", 0), (producer.topic, 7))
    assert sorted(missing) == sorted([E.OPERATION_NOT_ATTEMPTED] + [E.UNKNOWN_TOPIC_OR_PARTITION] * 2)
    assert producer.add(("__consumer_offsets", 0)) == [E.TOPIC_AUTHORIZATION_FAILED]
    assert producer.write(12, index=7) is E.UNKNOWN_TOPIC_OR_PARTITION
    assert producer.write(12, named=False) is E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    producer.sequence = 3
    assert producer.write(12) is E.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.sequence = 0
    assert producer.write(12) is E.NONE
    assert producer.write(12, transactional=False) is E.INVALID_TXN_STATE
    assert producer.write(9) is E.NONE  # it is registered, whoever did that
    assert producer.write(9, index=1) is E.INVALID_TXN_STATE
    assert producer.commit_offset(5) is E.NONE
    assert producer.commit_offset(5, partition=7) is E.UNKNOWN_TOPIC_OR_PARTITION
    assert producer.commit_offset(5, metadata="m" * 5_000) is E.OFFSET_METADATA_TOO_LARGE


def test_a_group_without_a_name(producer: RawProducer) -> None:
    producer.group = ""
    assert each((1, 4), producer.add_offsets) == [E.NONE] * 2
    assert each((3, 5), producer.commit_offset) == [E.INVALID_GROUP_ID] * 2
    assert producer.commit_offset(3, partition=7) is E.UNKNOWN_TOPIC_OR_PARTITION


def test_states_that_there_are_not(producer: RawProducer) -> None:
    states = ["Empty", "PrepareEpochFence", "empty", "", "empty"]
    answer = producer.of_transaction(ListTransactionsRequest(state_filters=states), 2)
    assert sorted(answer.unknown_state_filters) == ["", "empty"]


def test_since_when_a_transaction_is_known(producer: RawProducer) -> None:
    def started() -> int:
        request = DescribeTransactionsRequest(transactional_ids=[producer.transactional_id])
        return int(producer.of_transaction(request, 0).transaction_states[0].transaction_start_time_ms)

    def is_listed_as_old() -> bool:
        found = producer.of_transaction(ListTransactionsRequest(duration_filter=10**9), 2).transaction_states
        return producer.transactional_id in [each.transactional_id for each in found]

    assert (started(), is_listed_as_old()) == (-1, True)
    assert producer.add() == [E.NONE]
    since = started()
    assert since > 0
    assert not is_listed_as_old()
    assert producer.end(4) is E.NONE
    assert (started(), is_listed_as_old()) == (since, False)
    assert producer.init() is E.NONE
    assert (started(), is_listed_as_old()) == (-1, True)
    assert producer.end(5, commit=False) is E.NONE
    assert started() > since


def test_a_producer_whose_transaction_was_aborted_for_it(producer: RawProducer) -> None:
    newer = InitProducerIdRequest(transactional_id=producer.transactional_id, transaction_timeout_ms=60_000)
    for ends in (4, 5):
        assert producer.add() == [E.NONE]
        was = producer.producer_id, producer.epoch
        assert producer.of_transaction(newer, 4).error_code == E.CONCURRENT_TRANSACTIONS
        assert producer.end(4) is E.PRODUCER_FENCED
        for _ in range(2):
            assert producer.init(was=was) is E.NONE
            assert (producer.producer_id, producer.epoch) == (was[0], was[1] + 1)
        producer.sequence = 0
        assert producer.add() == [E.NONE]
        assert producer.write(9) is E.NONE
        assert producer.end(ends) is E.NONE
    assert producer.at().init() is E.NONE
    assert producer.at().init(was=was) is E.PRODUCER_FENCED


def test_what_is_late(producer: RawProducer) -> None:
    assert producer.write(12) is E.NONE
    late = producer.at()
    late.sequence = producer.sequence
    assert producer.end(5) is E.NONE
    assert late.at().end(5) is E.NONE
    assert late.end(5, commit=False) is E.INVALID_TXN_STATE
    assert late.end(4) is E.PRODUCER_FENCED
    assert producer.write(12) is E.NONE  # which waits until the one before it has ended everywhere
    assert each((9, 11, 12), late.write) == [E.INVALID_PRODUCER_EPOCH] * 3
    assert each((3, 5), late.commit_offset) == [E.INVALID_PRODUCER_EPOCH] * 2
    assert late.add() == [E.PRODUCER_FENCED]
    assert late.end(5) is E.PRODUCER_FENCED
    assert producer.end(5, commit=False) is E.NONE


def test_a_producer_that_another_has_replaced(producer: RawProducer) -> None:
    assert producer.write(12) is E.NONE
    newer = producer.at()
    assert newer.init() is E.NONE
    assert newer.epoch == producer.epoch + 2
    assert each((9, 11, 12), producer.write) == [E.INVALID_PRODUCER_EPOCH] * 3
    assert each((1, 2), lambda version: producer.add(version=version)) == [[code] for code in FENCED]
    assert each((1, 2, 5), producer.end) == [*FENCED, E.PRODUCER_FENCED]
    assert producer.end(5, commit=False) is E.PRODUCER_FENCED
    assert each((3, 5), producer.commit_offset) == [E.INVALID_PRODUCER_EPOCH] * 2
    assert newer.write(12) is E.NONE
    # What version 2 began, version 1 may end; then the epoch stays.
    assert newer.end(4) is E.NONE
    assert newer.add() == [E.NONE]
    assert newer.end(4, commit=False) is E.NONE
    assert newer.end(4, commit=False) is E.NONE
    assert newer.end(4) is E.INVALID_TXN_STATE


def test_a_producer_that_turns_to_version_2_goes_on_counting(producer: RawProducer) -> None:
    assert producer.add() == [E.NONE]
    assert producer.write(11) is E.NONE
    assert producer.end(4) is E.NONE
    assert producer.at(sequence=3).write(12) is E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.write(12) is E.NONE
    assert producer.end(5) is E.NONE


def test_a_batch_that_cannot_be_the_first_has_begun_the_transaction(producer: RawProducer) -> None:
    assert producer.at(sequence=1).write(12) is E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.end(5) is E.NONE
    ahead = producer.at(epoch=producer.epoch + 1, sequence=1)
    assert ahead.write(12) is E.INVALID_PRODUCER_EPOCH


def test_a_producer_was_last_heard_of_when_its_transaction_ended(producer: RawProducer) -> None:
    asked = DescribeProducersRequest(topics=[TopicRequest(name=producer.topic, partition_indexes=[0])])

    def last_timestamp() -> int:
        (answer,) = ask(producer.bootstrap, asked)
        return int(answer.topics[0].partitions[0].active_producers[0].last_timestamp)

    def ended() -> None:
        assert last_timestamp() >= began_ms

    for add, end in ((12, 5), (11, 4)):
        began_ms = int(time.time() * 1000)
        if add < 12:
            assert producer.add() == [E.NONE]
        assert producer.write(add) is E.NONE
        assert last_timestamp() == 1_000
        assert producer.end(end, commit=False) is E.NONE
        eventually(ended)
