"""What is decided about a batch from the record in the cluster and the checkpoint alone."""

import pytest

from millstream_spark.errors import SinkRefused
from millstream_spark.sink.plan import Plan, is_new, is_written

RECORDED = Plan(batch=7, source_start="a", source_end="b", slots=4, frozen="7-x")


def test_a_plan_is_the_same_after_it_was_kept_as_text() -> None:
    assert Plan.from_text(RECORDED.to_text()) == RECORDED


def test_the_first_batch_and_the_next_one_are_planned() -> None:
    assert is_new(None, batch=0, source_start="", source_end="a")
    assert is_new(RECORDED, batch=8, source_start="b", source_end="c")


def test_a_batch_that_is_tried_again_goes_by_its_plan() -> None:
    assert not is_new(RECORDED, batch=7, source_start="a", source_end="b")


@pytest.mark.parametrize(
    ("recorded", "batch", "source_start", "source_end", "words"),
    [
        (None, 3, "a", "b", "knows of none"),  # the record expired
        (RECORDED, 0, "", "b", "it was lost"),  # a checkpoint that begins again
        (RECORDED, 6, "0", "a", "older than the topic"),
        (RECORDED, 7, "a", "c", "another query's"),  # the same number, other source offsets
        (RECORDED, 8, "x", "c", "another query's"),  # the next number, and it begins elsewhere
        (RECORDED, 9, "b", "c", "it was lost"),  # the record is behind the checkpoint
    ],
)
def test_whatever_could_lose_rows_or_double_them_is_refused(
    recorded: Plan | None, batch: int, source_start: str, source_end: str, words: str
) -> None:
    with pytest.raises(SinkRefused, match=words):
        is_new(recorded, batch=batch, source_start=source_start, source_end=source_end)


def test_a_slot_is_written_once_and_never_behind_a_later_driver() -> None:
    assert not is_written(None, 0)
    assert not is_written(6, 7)
    assert is_written(7, 7)
    with pytest.raises(SinkRefused, match="later driver"):
        is_written(8, 7)
