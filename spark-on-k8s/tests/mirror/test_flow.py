"""Which offsets of a source and of its copy belong together, and which mirrors would go round."""

import pytest

from millstream_spark.errors import SinkRefused
from millstream_spark.mirror.flow import SYNCS_MAX, Flow, Renewal, check_flow, next_ranges
from millstream_spark.topic import Span, Topic

SOURCE, COPY = Topic("orders", "source", 2), Topic("a.orders", "copy", 2)


def test_an_offset_is_translated_by_the_last_sync_before_it() -> None:
    flow = Flow("source", ()).synced(10, 0).synced(100, 95).synced(200, 210)
    assert [flow.translated(offset) for offset in (3, 10, 99, 100, 150, 200, 999)] == [0, 0, 0, 95, 95, 210, 210]


def test_syncs_are_few_the_first_stays_and_the_newest_are_dense() -> None:
    flow = Flow("source", ())
    for offset in range(0, 10_000_000_000_000, 10_000_000_000):
        flow = flow.synced(offset, offset + 7)
    assert len(flow.syncs) <= SYNCS_MAX
    assert flow.syncs[0] == (0, 7)
    assert [there - here for here, there in flow.syncs] == [7] * len(flow.syncs)
    assert flow.translated(9_985_000_000_000) == 9_980_000_000_007
    assert len(flow.to_text()) < 4096 - 1024
    assert Flow.from_text(flow.to_text()) == flow


def test_a_sync_that_is_told_again_is_there_once() -> None:
    assert Flow("source", ()).synced(10, 0).synced(50, 41).synced(50, 42).syncs == ((10, 0), (50, 42))


def test_a_note_is_renewed_with_what_flows_by_now() -> None:
    note = Renewal(("other",))(Flow("source", ()).synced(10, 0).to_text(), 50, 41)
    assert Flow.from_text(note) == Flow("source", ("other",), ((10, 0), (50, 41)))


@pytest.mark.parametrize(
    ("target", "recorded", "origins", "words"),
    [
        (COPY, [Flow("other", ())], frozenset(), "created again"),
        (COPY, [Flow("source", ())], frozenset({"copy"}), "go round"),
        (SOURCE, [], frozenset(), "go round"),
    ],
)
def test_what_would_go_round_and_another_topic_are_refused(
    target: Topic, recorded: list[Flow], origins: frozenset[str], words: str
) -> None:
    check_flow(SOURCE, COPY, [Flow("source", ())], frozenset({"elsewhere"}))
    with pytest.raises(SinkRefused, match=words):
        check_flow(SOURCE, target, recorded, origins)


def test_a_round_is_bounded_and_leaves_out_what_is_done() -> None:
    held = {0: Span(0, 1000), 1: Span(5, 30), 2: Span(0, 7), 3: Span(0, 0)}
    assert next_ranges({0: 100, 1: 5, 2: 7, 3: 0}, held, 400) == {0: Span(100, 200), 1: Span(5, 30)}
