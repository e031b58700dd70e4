"""What a group is allowed, by its GROUP configs: who may join, whether members get partitions, where it begins."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from millstream_wire.late_dataclass import dataclass


class Admission(StrEnum):
    """The values are those of the configuration `admission`."""

    OPEN = "open"
    DECLARED = "declared"
    CLOSED = "closed"


class InitialOffset(StrEnum):
    """The values are those of the configuration `offsets.initial`."""

    NONE = "none"
    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPolicy:
    admission: Admission = Admission.OPEN
    topics: frozenset[str] = frozenset()
    """What members may subscribe to where admission is DECLARED."""
    paused: bool = False
    drains: bool = False
    """Members give up what they have and then have to go."""
    initial_offset: InitialOffset = InitialOffset.NONE
    retention_ms: int | None = None
    """None: the coordinator's."""

    @staticmethod
    def of_configs(configs: Mapping[str, str]) -> "GroupPolicy":
        if not configs:
            return OPEN_POLICY
        minutes = configs.get("offsets.retention.minutes")
        return GroupPolicy(
            admission=Admission(configs.get("admission", Admission.OPEN).strip()),
            topics=frozenset(name.strip() for name in configs.get("admission.topics", "").split(",") if name.strip()),
            paused=_is_true(configs, "paused"),
            drains=_is_true(configs, "drain"),
            initial_offset=InitialOffset(configs.get("offsets.initial", InitialOffset.NONE).strip()),
            retention_ms=None if minutes is None else int(minutes) * 60_000,
        )

    @property
    def withholds(self) -> bool:
        """Nobody is given any partitions."""
        return self.paused or self.drains

    @property
    def admits_nobody(self) -> bool:
        return self.drains or self.admission is Admission.CLOSED

    def allows(self, topic: str) -> bool:
        """Whether members may have partitions of the topic."""
        return self.admission is not Admission.DECLARED or topic in self.topics

    def undeclared(self, topics: Iterable[str]) -> list[str]:
        return sorted(topic for topic in topics if not self.allows(topic))


def _is_true(configs: Mapping[str, str], name: str) -> bool:
    return configs.get(name, "false").strip().lower() == "true"


OPEN_POLICY = GroupPolicy()
