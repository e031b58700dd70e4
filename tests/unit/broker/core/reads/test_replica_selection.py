"""Given what a leader knows of its followers, whom it sends a consumer to."""

import pytest

from millstream_broker.core.partition.standing import Assigned, Partition
from millstream_broker.core.reads.replica_selection import closest_follower
from millstream_cluster.ids import NO_NODE

RACKS = {2: "b", 3: "c", 4: "c", 5: "c"}


def leading(isr: tuple[int, ...] = (1, 2, 3, 4, 5), **fetched: tuple[int, int]) -> Partition:
    """Node 1 leads with an end at 10; `fetched` has the offset and the time of each follower's last fetch."""
    partition = Partition(1, end_offset=10, high_watermark=0)
    partition.on_assigned(Assigned((1, 2, 3, 4, 5), isr, 1, 3, 0))
    for name, (offset, at_ms) in fetched.items():
        node = int(name.removeprefix("node_"))
        partition.on_fetched(node, offset, broker_epoch=1, now_ms=at_ms, may_join=False, log_start_offset=2)
    return partition


def chosen(partition: Partition, offset: int, rack: str, leader_rack: str | None = "a") -> int:
    return closest_follower(partition, offset, rack, leader_rack=leader_rack, rack_of=RACKS.get)


def test_a_follower_in_the_consumers_rack_is_chosen() -> None:
    partition = leading(node_2=(10, 0), node_3=(10, 0))
    assert chosen(partition, 5, "b") == 2
    assert chosen(partition, 5, "c") == 3


@pytest.mark.parametrize(
    ("rack", "leader_rack"), [("a", "a"), ("b", "b"), ("elsewhere", "a"), ("elsewhere", None), ("", None), ("", "a")]
)
def test_the_leader_serves_its_own_rack_and_whoever_has_nobody_closer(rack: str, leader_rack: str | None) -> None:
    assert chosen(leading(node_2=(10, 0)), 5, rack, leader_rack) == NO_NODE


@pytest.mark.parametrize(("offset", "found"), [(1, NO_NODE), (2, 2), (7, 2), (8, NO_NODE)])
def test_its_log_has_to_hold_the_offset_or_end_there(offset: int, found: int) -> None:
    assert chosen(leading(node_2=(7, 0)), offset, "b") == found


def test_who_has_not_fetched_in_this_leader_epoch_is_not_chosen() -> None:
    partition = leading(node_2=(10, 0))
    partition.on_assigned(Assigned((1, 2, 3, 4, 5), (1, 2), 3, 4, 1))
    partition.on_assigned(Assigned((1, 2, 3, 4, 5), (1, 2), 1, 5, 2))
    assert chosen(partition, 5, "b") == NO_NODE


def test_who_left_the_isr_is_not_chosen_any_more() -> None:
    partition = leading(node_2=(10, 0))
    assert chosen(partition, 5, "b") == 2
    partition.on_assigned(Assigned((1, 2, 3, 4, 5), (1, 3), 1, 3, 1))
    assert chosen(partition, 5, "b") == NO_NODE


def test_who_is_out_of_reach_is_not_chosen() -> None:
    partition = leading(node_3=(10, 0), node_4=(9, 0))
    assert closest_follower(partition, 5, "c", leader_rack="a", rack_of={3: None, 4: "c"}.get) == 4


def test_of_several_the_one_with_most_is_chosen_then_the_latest_then_by_its_number() -> None:
    assert chosen(leading(node_3=(10, 0), node_4=(9, 5), node_5=(9, 5)), 5, "c") == 3
    assert chosen(leading(node_3=(10, 7), node_4=(10, 8), node_5=(10, 6)), 5, "c") == 4
    assert chosen(leading(node_3=(10, 7), node_4=(10, 7), node_5=(10, 7)), 5, "c") == 5
