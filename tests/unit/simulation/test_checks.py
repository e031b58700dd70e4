"""Checks that are made after every event, given what they must object to."""

from uuid import UUID

import pytest

from millstream_simulation.checks.hosted_partitions import HostedPartitionsMove, Key, Seen
from millstream_simulation.story import Story, Violation

KEY: Key = (UUID(int=7), 0)


@pytest.mark.parametrize(
    ("before", "now", "finding"),
    [
        ((3, 10, 10, ()), (3, 12, 9, ()), "high watermark of t-0 fell from 10 to 9"),
        ((3, 10, 10, ()), (2, 10, 10, ()), "back to 2"),
    ],
)
def test_what_a_partition_must_not_do_in_one_life(before: Seen, now: Seen, finding: str) -> None:
    with pytest.raises(Violation, match=finding):
        HostedPartitionsMove(Story(lambda: 0.0))._judge("broker-1", KEY, "t-0", before, now)


def test_a_leader_epoch_has_one_broker_that_appends() -> None:
    check = HostedPartitionsMove(Story(lambda: 0.0))
    check._judge("broker-1", KEY, "t-0", (3, 10, 10, ()), (3, 12, 12, ()))
    check._judge("broker-2", KEY, "t-0", (3, 12, 12, ()), (4, 12, 12, ()))
    check._judge("broker-2", KEY, "t-0", (4, 12, 12, ()), (4, 13, 13, ()))
    with pytest.raises(Violation, match="appended to by broker-2 and by broker-1 in leader epoch 4"):
        check._judge("broker-1", KEY, "t-0", (4, 12, 12, ()), (4, 13, 13, ()))
