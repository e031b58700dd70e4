"""What is decided about a batch from the record in the cluster and the checkpoint alone."""

import pytest

from millstream_spark.errors import SinkRefused
from millstream_spark.sink.plan import Plan, is_new, is_written

RECORDED = Plan(batch=7, source_start="a", source_end="b", slots=4, frozen="7-x")


def test_a_plan_is_the_same_after_it_was_kept_as_text() -> None:
    assert Plan.from_text(RECORDED.to_text()) == RECORDED


@pytest.mark.parametrize("text", ["", "null", "{}", '{"batch": 7}'])
def test_what_somebody_else_committed_to_the_group_is_no_plan(text: str) -> None:
    with pytest.raises(SinkRefused, match="somebody else"):
        Plan.from_text(text)


def test_the_first_batch_and_the_next_one_are_planned() -> None:
    assert is_new(None, is_begun=False, batch=0, source_start="", source_end="a")
    assert is_new(RECORDED, is_begun=False, batch=8, source_start="b", source_end="c")


def test_a_batch_that_is_tried_again_goes_by_its_plan() -> None:
    assert not is_new(RECORDED, is_begun=False, batch=7, source_start="a", source_end="b")


def test_a_first_batch_whose_record_is_gone_is_not_planned_again() -> None:
    with pytest.raises(SinkRefused, match="knows of none"):
        is_new(None, is_begun=True, batch=0, source_start="", source_end="a")


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
        is_new(recorded, is_begun=False, batch=batch, source_start=source_start, source_end=source_end)


def test_a_slot_is_written_once_and_never_behind_a_later_driver() -> None:
    assert not is_written(7, 7)
    assert is_written(8, 7)
    with pytest.raises(SinkRefused, match="later driver"):
        is_written(9, 7)


@pytest.mark.parametrize("mark", [None, 0, 6])
def test_a_slot_whose_mark_is_gone_is_not_written(mark: int | None) -> None:
    with pytest.raises(SinkRefused, match="the mark of a slot is gone"):
        is_written(mark, 7)
