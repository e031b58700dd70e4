"""The bounds within which share groups live: the coordinator's configuration, and what a group has of its own."""

from collections.abc import Mapping
from dataclasses import replace

from millstream_coordinator.core.group.heartbeats import SETTLING_INTERVAL_MS
from millstream_coordinator.core.group.policy import OPEN_POLICY, GroupPolicy
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareLimits:
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    """The shortest time between two target assignments of a group: members that come together are assigned together."""
    size_max: int = 200
    policy: GroupPolicy = OPEN_POLICY

    def interval_ms(self, *, settles: bool) -> int:
        """Until the member's next heartbeat."""
        return min(self.heartbeat_interval_ms, SETTLING_INTERVAL_MS) if settles else self.heartbeat_interval_ms

    def of_group(self, configs: Mapping[str, str]) -> "ShareLimits":
        """With the GROUP configs, if there are any, over the coordinator's."""
        if not configs:
            return self
        return replace(
            self,
            session_timeout_ms=int(configs.get("share.session.timeout.ms", self.session_timeout_ms)),
            heartbeat_interval_ms=int(configs.get("share.heartbeat.interval.ms", self.heartbeat_interval_ms)),
            assignment_interval_ms=int(configs.get("share.assignment.interval.ms", self.assignment_interval_ms)),
            size_max=int(configs.get("max.size", self.size_max)),
            policy=GroupPolicy.of_configs(configs),
        )
