"""The bounds within which groups of all protocols live, from the coordinator's configuration."""

from dataclasses import field

from millstream_coordinator.core.classic.limits import ClassicLimits
from millstream_coordinator.core.consumer.limits import ConsumerLimits
from millstream_coordinator.core.share.limits import ShareLimits
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits(ClassicLimits):
    """The classic groups' own, and those of the other protocols."""

    consumer: ConsumerLimits = field(default_factory=ConsumerLimits)
    share: ShareLimits = field(default_factory=ShareLimits)
