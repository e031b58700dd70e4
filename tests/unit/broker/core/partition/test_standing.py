from millstream_broker.core.partition.standing import Assigned, LeadershipBegan, LeadershipEnded, Partition
from millstream_wire.errors import ErrorCode


def assigned(leader: int, leader_epoch: int, partition_epoch: int) -> Assigned:
    return Assigned((1,), (1,), leader, leader_epoch, partition_epoch)


def test_leadership_begins_at_the_end_of_the_log() -> None:
    partition = Partition(1, end_offset=42)
    assert partition.on_assigned(assigned(1, 3, 5)) == (LeadershipBegan(3, 42),)
    partition.on_appended(50)
    assert (partition.high_watermark, partition.end_offset) == (50, 50)
    partition.check()


def test_the_same_assignment_again_and_an_older_one_change_nothing() -> None:
    partition = Partition(1, end_offset=0)
    partition.on_assigned(assigned(1, 3, 5))
    assert partition.on_assigned(assigned(1, 3, 5)) == ()
    assert partition.on_assigned(assigned(2, 2, 4)) == ()
    assert partition.leads


def test_a_new_epoch_of_the_same_leader_ends_the_old_one() -> None:
    partition = Partition(1, end_offset=7)
    partition.on_assigned(assigned(1, 3, 5))
    assert partition.on_assigned(assigned(-1, 3, 6)) == (LeadershipEnded(),)
    assert partition.on_assigned(assigned(1, 4, 7)) == (LeadershipBegan(4, 7),)
    assert partition.on_assigned(assigned(1, 6, 9)) == (LeadershipEnded(), LeadershipBegan(6, 7))


def test_whoever_believes_in_another_epoch_is_refused() -> None:
    partition = Partition(1, end_offset=0)
    assert partition.refusal(-1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    partition.on_assigned(assigned(1, 3, 0))
    assert partition.refusal(-1) is ErrorCode.NONE
    assert partition.refusal(3) is ErrorCode.NONE
    assert partition.refusal(2) is ErrorCode.FENCED_LEADER_EPOCH
    assert partition.refusal(4) is ErrorCode.UNKNOWN_LEADER_EPOCH
