"""A partition's high watermark never falls within a leader epoch while its process lives, and one broker appends per epoch."""

from collections.abc import Callable
from uuid import UUID

from millstream_broker.app import BrokerApp
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_simulation.host import Host
from millstream_simulation.story import Story, Violation

Key = tuple[UUID, int]
Seen = tuple[int, int, int, tuple[int, ...]]
"""Leader epoch, log end, high watermark, ISR."""
Lives = dict[Key, tuple[HostedPartition, Seen]]
"""A copy that is made again in the same process begins anew."""


def _nobody(host: Host, hosted: HostedPartition) -> None:
    return


class HostedPartitionsMove:
    def __init__(self, story: Story, on_moved: Callable[[Host, HostedPartition], None] = _nobody) -> None:
        """`on_moved` is told of each partition of which something has changed."""
        self._story = story
        self._on_moved = on_moved
        self._lives: dict[str, tuple[HostedPartitions, Lives]] = {}
        self._writers: dict[tuple[Key, int], str] = {}

    def look(self, host: Host) -> None:
        service = host.service
        if not isinstance(service, BrokerApp) or service.partitions is None:
            return
        hosted = service.partitions
        life = self._lives.get(host.name)
        if life is None or life[0] is not hosted:
            life = self._lives[host.name] = (hosted, {})
        seen = life[1]
        for each in hosted:
            partition = each.partition
            now = (
                int(partition.leader_epoch),
                int(each.log.log_end_offset),
                int(partition.high_watermark),
                partition.isr,
            )
            known, before = seen.get(each.key, (None, None))
            if known is not each or before != now:
                seen[each.key] = (each, now)
                if known is each and before is not None:
                    self._judge(host.name, each.key, str(each.name), before, now, leads=partition.leads)
                each.check()
                self._on_moved(host, each)

    def _judge(self, host: str, key: Key, name: str, before: Seen, now: Seen, *, leads: bool = True) -> None:
        epoch, end, high_watermark, _ = now
        if before[0] < epoch:
            self._story.note("leader epoch rose")
        if before[0] > epoch:
            raise Violation(f"{name} went from leader epoch {before[0]} back to {epoch}")
        if before[0] == epoch and high_watermark < before[2]:
            raise Violation(f"the high watermark of {name} fell from {before[2]} to {high_watermark} in epoch {epoch}")
        if leads and before[0] == epoch and end > before[1]:
            writer = self._writers.setdefault((key, epoch), host)
            if writer != host:
                raise Violation(f"{name} was appended to by {writer} and by {host} in leader epoch {epoch}")
