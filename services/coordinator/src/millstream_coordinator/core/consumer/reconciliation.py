"""How a member gets from what it has to what it should have: it gives up first, and gets only what is free.

    STABLE ──target changed──▶ UNREVOKED_PARTITIONS ──gave them up──▶ UNRELEASED_PARTITIONS ──others gave up──▶ STABLE
                 (its epoch stays)                     (at the target's epoch)

Either middle state is left out when there is nothing to wait for.
"""

from collections.abc import Callable

from millstream_coordinator.core.consumer.member import CurrentAssignment, MemberState
from millstream_coordinator.core.group.partitions import Partitions, TopicIdPartition


def reconcile(
    current: CurrentAssignment,
    *,
    target: Partitions,
    target_epoch: int,
    reported: Partitions | None,
    is_free: Callable[[TopicIdPartition], bool],
) -> CurrentAssignment:
    """The member's next assignment; `reported` is what it says that it still has, None if it does not say."""
    if current.state is MemberState.STABLE and current.epoch == target_epoch and current.assigned.keys() == target:
        return current
    if current.revoking and (reported is None or not reported.isdisjoint(current.revoking)):
        return _still_revoking(current, target)
    kept = {partition: epoch for partition, epoch in current.assigned.items() if partition in target}
    revoking = {partition: epoch for partition, epoch in current.assigned.items() if partition not in target}
    if revoking and (reported is None or not reported.isdisjoint(revoking)):
        return CurrentAssignment(
            epoch=current.epoch,
            previous_epoch=current.previous_epoch,
            state=MemberState.UNREVOKED_PARTITIONS,
            assigned=kept,
            revoking=revoking,
        )
    wanted = target - kept.keys()
    # What it has only just given up is still written down as its own.
    free = {partition for partition in wanted if partition in current.revoking or is_free(partition)}
    return CurrentAssignment(
        epoch=target_epoch,
        previous_epoch=current.previous_epoch if current.epoch == target_epoch else current.epoch,
        state=MemberState.STABLE if len(free) == len(wanted) else MemberState.UNRELEASED_PARTITIONS,
        assigned=kept | dict.fromkeys(free, target_epoch),
    )


def _still_revoking(current: CurrentAssignment, target: Partitions) -> CurrentAssignment:
    """It gives up what it was asked to; if the target changed meanwhile, that and more."""
    more = {partition: epoch for partition, epoch in current.assigned.items() if partition not in target}
    if not more:
        return current
    return CurrentAssignment(
        epoch=current.epoch,
        previous_epoch=current.previous_epoch,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned={partition: epoch for partition, epoch in current.assigned.items() if partition not in more},
        revoking={**current.revoking, **more},
    )
