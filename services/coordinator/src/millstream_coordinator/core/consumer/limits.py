"""The bounds within which consumer groups live: the coordinator's configuration, and what a group has of its own."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from millstream_coordinator.core.group.heartbeats import SETTLING_INTERVAL_MS
from millstream_coordinator.core.group.policy import OPEN_POLICY, GroupPolicy
from millstream_wire.late_dataclass import dataclass


class MigrationPolicy(StrEnum):
    """The values are those of `group.consumer.migration.policy`."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def upgrades(self) -> bool:
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE)

    @property
    def downgrades(self) -> bool:
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerLimits:
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    """The shortest time between two target assignments of a group: members that come together are assigned together."""
    size_max: int = 2**31 - 1
    policy: GroupPolicy = OPEN_POLICY
    migration: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    """Which way a live group may go from one protocol to the other."""

    def interval_ms(self, *, settles: bool, due_ms: int) -> int:
        """Until the member's next heartbeat; `due_ms`: when a new target is due that it waits for, or 0."""
        settling_ms = SETTLING_INTERVAL_MS if settles else self.heartbeat_interval_ms
        return min(self.heartbeat_interval_ms, settling_ms, due_ms or self.heartbeat_interval_ms)

    def of_group(self, configs: Mapping[str, str]) -> "ConsumerLimits":
        """With the GROUP configs, if there are any, over the coordinator's."""
        if not configs:
            return self
        return replace(
            self,
            session_timeout_ms=int(configs.get("consumer.session.timeout.ms", self.session_timeout_ms)),
            heartbeat_interval_ms=int(configs.get("consumer.heartbeat.interval.ms", self.heartbeat_interval_ms)),
            assignment_interval_ms=int(configs.get("consumer.assignment.interval.ms", self.assignment_interval_ms)),
            size_max=int(configs.get("max.size", self.size_max)),
            policy=GroupPolicy.of_configs(configs),
        )
