"""The bounds within which classic groups live: the coordinator's configuration, and what a group has of its own."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

from millstream_coordinator.core.group.policy import OPEN_POLICY, GroupPolicy
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicLimits:
    initial_rebalance_delay_ms: int = 3_000
    """How long the first rebalance of an empty group waits for more members."""
    session_timeout_min_ms: int = 6_000
    session_timeout_max_ms: int = 1_800_000
    size_max: int = 2**31 - 1
    """Members per group."""
    new_member_join_timeout_ms: int = 300_000
    """A member that never got its id cannot heartbeat; after this long without a rebalance it is taken for gone."""
    policy: GroupPolicy = OPEN_POLICY

    def of_group(self, configs: Mapping[str, str]) -> Self:
        """With the GROUP configs, if there are any, over the coordinator's."""
        if not configs:
            return self
        return replace(
            self,
            session_timeout_min_ms=int(configs.get("min.session.timeout.ms", self.session_timeout_min_ms)),
            session_timeout_max_ms=int(configs.get("max.session.timeout.ms", self.session_timeout_max_ms)),
            size_max=int(configs.get("max.size", self.size_max)),
            policy=GroupPolicy.of_configs(configs),
        )
