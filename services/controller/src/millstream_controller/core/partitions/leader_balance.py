"""Leadership goes back to preferred leaders by itself, some time after they are in sync again (auto.leader.rebalance.enable)."""

from itertools import islice

from millstream_cluster import records as r
from millstream_cluster.configs import EffectiveConfigs
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.partitions.change import Cause, Election
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.leadership import changes

ELECTIONS_MAX = 1_000
"""The most at a time: each moves the clients of a partition."""


class LeaderBalance:
    """Soft state: when it is looked at next. A controller that has just become active waits for one interval."""

    def __init__(self) -> None:
        self._next_ms: int | None = None

    def next_step(self, machine: ControllerMachine, now_ms: int) -> tuple[r.MetadataRecord, ...]:
        """The next elections once it is time; of very many the rest follows at once."""
        configs = EffectiveConfigs(machine.image, machine.settings.static)
        interval_s = configs.broker_value("leader.imbalance.check.interval.seconds")
        assert isinstance(interval_s, int)
        if self._next_ms is None:
            self._next_ms = now_ms + interval_s * 1000
        if now_ms < self._next_ms:
            return ()
        elected: tuple[r.MetadataRecord, ...] = ()
        if configs.broker_value("auto.leader.rebalance.enable"):
            preferred = Cause(election=Election.PREFERRED)
            elected = tuple(
                islice(changes(machine.imbalanced_partitions(), Electorate(machine), preferred), ELECTIONS_MAX)
            )
        if len(elected) < ELECTIONS_MAX:
            self._next_ms = now_ms + interval_s * 1000
        return elected
