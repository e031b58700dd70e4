"""What is behind a refused batch is not taken for a producer's first one."""

from uuid import UUID

from millstream_broker.core.first_sequences import FirstSequences

KEY = (UUID(int=1), 0, 7)


def test_only_the_lowest_sequence_that_was_seen_begins() -> None:
    seen = FirstSequences()
    assert seen.comes_first(KEY, 0, 5)
    assert not seen.comes_first(KEY, 0, 7)
    assert seen.comes_first(KEY, 0, 5)
    assert seen.comes_first(KEY, 0, 3)
    assert not seen.comes_first(KEY, 0, 5)


def test_each_partition_producer_and_epoch_begins_by_itself() -> None:
    seen = FirstSequences()
    assert seen.comes_first(KEY, 0, 0)
    assert seen.comes_first((UUID(int=1), 1, 7), 0, 4)
    assert seen.comes_first((UUID(int=1), 0, 8), 0, 4)
    assert seen.comes_first(KEY, 1, 4)


def test_what_the_partition_knows_is_forgotten_here() -> None:
    seen = FirstSequences()
    assert seen.comes_first(KEY, 0, 0)
    seen.forget(KEY)
    assert seen.comes_first(KEY, 0, 9)


def test_producers_that_gave_up_do_not_pile_up() -> None:
    seen = FirstSequences(remembered=3)
    for producer_id in range(10):
        assert seen.comes_first((UUID(int=1), 0, producer_id), 0, 2)
    assert len(seen) == 3
    assert not seen.comes_first((UUID(int=1), 0, 9), 0, 4)
    assert seen.comes_first((UUID(int=1), 0, 0), 0, 4)
