"""A coordinator that lost its session answers nothing from a shard before it has claimed it again: others may have owned it since."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from millstream_cluster.ids import NodeId
from millstream_cluster.image import Image
from millstream_cluster.records import MetadataRecord, NodeFenced, ShardAssigned
from millstream_coordinator.app import CoordinatorApp
from millstream_coordinator.shell.shards.owned import OwnedShard
from millstream_simulation.checks.committed_metadata import CommittedMetadata
from millstream_simulation.host import Host
from millstream_simulation.story import Story, Violation

Claim = tuple[UUID, int, int, int]
"""Of a partition of this topic, by a producer id and epoch."""


@dataclass(slots=True)
class _Life:
    """Of a coordinator's process."""

    service: CoordinatorApp
    sessions: int = 0
    """How many have ended."""
    claimed_after: int = -1
    """What is served now was claimed behind this offset of the metadata: the node's fencing that it has heard of."""
    served: dict[str, object] = field(default_factory=dict)
    """By the shard's name, what was found to be claimed late enough."""


class ClaimedShards:
    def __init__(self, metadata: CommittedMetadata, story: Story) -> None:
        self._metadata = metadata
        self._story = story
        self._claims: dict[Claim, int] = {}
        """Where in the metadata they are."""
        self._fenced: dict[NodeId, int] = {}
        self._lives: dict[str, _Life] = {}
        metadata.on_committed.append(self._note)

    def look(self, host: Host) -> None:
        service = host.service
        if not isinstance(service, CoordinatorApp):
            return
        life = self._lives.get(host.name)
        if life is None or life.service is not service:
            life = self._lives[host.name] = _Life(service)
        if life.sessions != service._session.number:
            life.sessions = service._session.number
            self._metadata.refresh()
            life.claimed_after = self._fenced.get(NodeId(service.config.node_id), -1)
            life.served.clear()
        if life.claimed_after >= 0:
            for shard in (shard for kind in service._kinds for shard in kind.owned()):
                if shard.service is not None and life.served.get(shard.partition.name) is not shard.service:
                    self._judge(shard, life)

    def _judge(self, shard: OwnedShard[Any, Any], life: _Life) -> None:
        assert shard._claimed is not None, "served, so claimed"
        claim = (shard.partition.topic_id, shard.partition.partition, *shard._claimed)
        if claim not in self._claims:
            self._metadata.refresh()
        claimed = self._claims.get(claim)
        if claimed is None:
            return  # the controller that took it died before anybody looked at it
        if claimed <= life.claimed_after:
            raise Violation(
                f"serves {shard.partition.name} as it was claimed at {claimed} of the metadata, "
                f"and lost its session by what is at {life.claimed_after}"
            )
        life.served[shard.partition.name] = shard.service
        self._story.note("shard served in a new session")

    def _note(self, image: Image, record: MetadataRecord) -> None:
        offset = image.offset + 1
        if isinstance(record, NodeFenced):
            self._fenced[record.node_id] = offset
        elif isinstance(record, ShardAssigned):
            claim = (record.topic_id, record.partition, int(record.producer_id), int(record.producer_epoch))
            self._claims.setdefault(claim, offset)
