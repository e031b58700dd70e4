import pytest

from millstream_controller.core.partitions.completion import completed


@pytest.mark.parametrize(
    ("replicas", "adding", "removing", "isr", "end"),
    [
        ((1, 2, 3), (), (), (1, 2, 3), None),
        ((4, 2, 3, 1), (4,), (1,), (1, 2, 3, 4), ((4, 2, 3), (2, 3, 4))),
        ((4, 2, 3, 1), (4,), (1,), (2, 3, 4), ((4, 2, 3), (2, 3, 4))),
        ((4, 2, 3, 1), (4,), (1,), (1, 2, 3), None),
        ((4, 2, 3, 1), (4,), (1,), (1, 2, 4), None),
        ((1, 2, 3), (), (3,), (1, 2), ((1, 2), (1, 2))),
        ((1, 2, 3), (), (3,), (1, 3), None),
        ((1, 2), (2,), (), (1, 2), ((1, 2), (1, 2))),
        ((1, 2), (2,), (), (1,), None),
        ((2, 1), (2,), (1,), (1,), None),
        ((2, 1), (2,), (1,), (1, 2), ((2,), (2,))),
        ((2, 1), (2,), (2,), (1, 2), ((1,), (1,))),
        ((1, 2), (), (1, 2), (1, 2), None),
    ],
)
def test_a_move_ends_when_its_whole_target_is_in_sync_and_not_before(replicas, adding, removing, isr, end) -> None:
    assert completed(replicas, adding, removing, isr) == end
