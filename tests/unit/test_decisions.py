"""Decisions only look: what they want changed they say in records and in changes of what is kept in memory."""

from collections.abc import Callable
from typing import Any

import pytest

from millstream_cluster.decision import Decision
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.machine import GroupShard


def test_all_kinds_of_decisions_are_watched(watched_decisions: list[str]) -> None:
    names = {name.rpartition(".")[2] for name in watched_decisions}
    of_groups = {
        "on_heartbeat",
        "on_leave",
        "remove_silent",
        "on_classic_join",
        "commit",
        "expire",
        "on_share_heartbeat",
    }
    of_transactions = {"init_producer", "end_transaction", "end_and_bump", "abort_overdue", "commit_in_transaction"}
    of_controllers = {"register", "heartbeat", "unregister", "create_topics", "claim"}
    assert names >= of_groups | of_transactions | of_controllers


def test_a_decision_that_writes_is_a_failure(watch: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    def writes(shard: GroupShard, now_ms: int) -> Decision[Any, None]:
        shard.enter("g", now_ms)
        return Decision((), None)

    with pytest.raises(AssertionError, match="writes while it decides"):
        watch(writes)(GroupShard(GroupLimits()), 0)
