"""Invariants that are looked at after every event of every process: all of them live in one interpreter.

To add one: a class with `look`, called with the host whose process has just done something, and its line in `checks_of`. It keeps what
it saw last and compares: only what changed costs more than a glance.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from millstream_cluster.image import Image
from millstream_cluster.records import MetadataRecord, PartitionChanged
from millstream_runtime.simulated.network import SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_simulation.checks.claimed_shards import ClaimedShards
from millstream_simulation.checks.committed_metadata import CommittedMetadata
from millstream_simulation.checks.deposed_controllers import DeposedControllers
from millstream_simulation.checks.highest_controller import HighestController
from millstream_simulation.checks.hosted_partitions import HostedPartitionsMove
from millstream_simulation.checks.let_in import LetIn
from millstream_simulation.checks.lost_partitions import LostPartitions
from millstream_simulation.checks.removed_partitions import RemovedPartitions
from millstream_simulation.checks.replayed_logs import ReplayedLogs
from millstream_simulation.checks.replicas.directories import expect_usable
from millstream_simulation.checks.replicas.eligible import EligibleReplicas
from millstream_simulation.checks.replicas.leaders import LetInLeaders
from millstream_simulation.checks.replicas.replicas import Replicas
from millstream_simulation.host import Host
from millstream_simulation.story import Story, Violation


class Check(Protocol):
    def look(self, host: Host) -> None:
        """Something has happened in the host's process; raises Violation."""


class Checks:
    """Of one run; `stop` before its metadata store is put back, when nothing of this holds any more."""

    def __init__(
        self,
        hosts: Sequence[Host],
        network: SimulatedNetwork,
        story: Story,
        fail: Callable[[str], None],
        *,
        min_isr: int,
    ) -> None:
        """`min_isr`: min.insync.replicas of topics that do not say."""
        self._hosts: Mapping[str, Host] = {host.name: host for host in hosts}
        self._fail = fail
        self._stopped = False
        self._metadata = metadata = CommittedMetadata(hosts)
        LetIn(hosts, metadata)
        self._replicas = Replicas(hosts, self.committed, story)
        eligible = EligibleReplicas(min_isr, self._has_lost)
        metadata.on_committed += (self._replicas.on_committed, eligible.on_committed, expect_usable)
        self._removed = RemovedPartitions(metadata, self._hosts)
        self._lost = LostPartitions()
        self._replayed = ReplayedLogs()
        self._each: Sequence[Check] = (
            metadata,
            DeposedControllers(metadata),
            HighestController(hosts, network, story),
            ClaimedShards(metadata, story),
            HostedPartitionsMove(story, self._replicas.on_moved),
            self._replicas,
            LetInLeaders(story),
            self._lost,
            self._replayed,
        )

    def committed(self) -> Image:
        """The metadata, as far as it is committed."""
        self._metadata.refresh()
        return self._metadata.image

    def tell_committed(self, listener: Callable[[Image, MetadataRecord], None]) -> None:
        """Call it with each record of the metadata that is committed from now on, before the image has it."""
        self._metadata.on_committed.append(listener)

    def look(self, owner: object) -> None:
        """A process has just done something, and what followed from it at once."""
        assert isinstance(owner, SimulatedWorld)
        host = self._hosts.get(owner.host)
        if self._stopped or host is None or host.world is not owner:
            return
        try:
            for check in self._each:
                check.look(host)
        except (Violation, AssertionError) as error:
            self._fail(f"{host.name}: {error}")

    def _has_lost(self, node_id: int, record: PartitionChanged) -> bool:
        host = self._hosts.get(f"broker-{node_id}")
        return host is not None and (record.topic_id, record.partition) in host.lost

    def hear(self, owner: object, record: logging.LogRecord) -> None:
        """A process has logged something."""
        if self._stopped or not isinstance(owner, SimulatedWorld) or owner.host not in self._hosts:
            return
        try:
            self._removed.hear(owner.host, record)
            self._lost.hear(owner, record)
        except Violation as error:
            self._fail(f"{owner.host}: {error}")

    def look_at_all(self) -> None:
        """All is quiet: what is too dear for every event."""
        for host in self._hosts.values():
            self._replayed.judge(host)

    def stop(self) -> None:
        self._stopped = True
