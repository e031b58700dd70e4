"""What is in flight behind a refused batch waits for it."""

from millstream_broker.core.appends.refused_batches import RefusedBatches

KEY = ("t", 0, 7)


def test_what_is_behind_the_lowest_refused_one_waits() -> None:
    refused = RefusedBatches()
    assert not refused.is_behind(KEY, 0, 5, 0)
    refused.add(KEY, 0, 5, 0)
    refused.add(KEY, 0, 7, 1)
    assert refused.is_behind(KEY, 0, 7, 2)
    assert not refused.is_behind(KEY, 0, 5, 2)
    refused.add(KEY, 0, 3, 3)
    assert refused.is_behind(KEY, 0, 5, 4)


def test_each_partition_producer_and_epoch_is_by_itself() -> None:
    refused = RefusedBatches()
    refused.add(KEY, 0, 0, 0)
    assert not refused.is_behind(("t", 1, 7), 0, 4, 0)
    assert not refused.is_behind(("t", 0, 8), 0, 4, 0)
    assert not refused.is_behind(KEY, 1, 4, 0)
    refused.add(KEY, 1, 4, 0)
    assert not refused.is_behind(KEY, 1, 4, 0)


def test_nobody_waits_for_what_does_not_come_again() -> None:
    refused = RefusedBatches()
    refused.add(KEY, 0, 0, 1_000)
    assert refused.is_behind(KEY, 0, 1, 120_999)
    assert not refused.is_behind(KEY, 0, 1, 121_000)
    assert not refused.lowest
    refused.add(KEY, 0, 0, 1_000)
    refused.forget(KEY)
    assert not refused.lowest


def test_producers_that_gave_up_do_not_pile_up() -> None:
    refused = RefusedBatches(remembered=3)
    for producer_id in range(10):
        refused.add(("t", 0, producer_id), 0, 2, 0)
    assert len(refused.lowest) == 3
    assert refused.is_behind(("t", 0, 9), 0, 4, 0)
    assert not refused.is_behind(("t", 0, 0), 0, 4, 0)
