"""Batches laid over batches say of each offset what was said last, whatever was said before."""

from hypothesis import given
from hypothesis import strategies as st

from millstream_coordinator.core.share_state.state import NOT_BEGUN, ShareState, StateBatch, overlay

pieces = st.tuples(st.integers(0, 6), st.integers(0, 8), st.sampled_from([0, 2, 4]), st.integers(1, 2))


def laid_out(drawn: list[tuple[int, int, int, int]]) -> list[StateBatch]:
    """One after the other, each with a gap before it."""
    batches: list[StateBatch] = []
    for gap, length, state, count in drawn:
        first = gap + (batches[-1].last_offset + 1 if batches else 0)
        batches.append(StateBatch(first, first + length, state, count))
    return batches


batches = st.lists(pieces, max_size=6).map(laid_out)
writes = st.lists(st.tuples(batches, st.integers(NOT_BEGUN, 30)), max_size=5)


@given(writes)
def test_each_offset_is_what_was_said_of_it_last(told: list[tuple[list[StateBatch], int]]) -> None:
    state = ShareState(state_epoch=0, created_ms=0, written_ms=0)
    model: dict[int, tuple[int, int]] = {}
    start = NOT_BEGUN
    for said, start_offset in told:
        start = max(start, start_offset)
        for batch in said:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                model[offset] = (batch.delivery_state, batch.delivery_count)
        model = {offset: what for offset, what in model.items() if offset >= start}
        state = state.with_changes(
            leader_epoch=0, start_offset=start_offset, delivery_complete_count=0, batches=said, now_ms=1
        )
        state.check()
        assert state.start_offset == start
        assert {
            offset: (batch.delivery_state, batch.delivery_count)
            for batch in state.batches
            for offset in range(batch.first_offset, batch.last_offset + 1)
        } == model
        assert not any(later.continues(batch) for batch, later in zip(state.batches, state.batches[1:], strict=False))


def test_what_is_acknowledged_inside_a_batch_splits_it() -> None:
    acquired = [StateBatch(10, 19, 0, 1)]
    assert overlay(acquired, [StateBatch(12, 13, 2, 1)], 11) == (
        StateBatch(11, 11, 0, 1),
        StateBatch(12, 13, 2, 1),
        StateBatch(14, 19, 0, 1),
    )
    assert overlay(acquired, [StateBatch(20, 24, 0, 1)], NOT_BEGUN) == (StateBatch(10, 24, 0, 1),)
