"""A node is let in only when it has applied the record that shut it out: what was its own may have gone to others since."""

from collections.abc import Sequence

from millstream_broker.app import BrokerApp
from millstream_cluster.image import Image
from millstream_cluster.records import MetadataRecord, NodeUnfenced
from millstream_coordinator.app import CoordinatorApp
from millstream_simulation.checks.committed_metadata import CommittedMetadata
from millstream_simulation.host import Host
from millstream_simulation.story import Violation


class LetIn:
    def __init__(self, hosts: Sequence[Host], metadata: CommittedMetadata) -> None:
        self._hosts = hosts
        metadata.on_committed.append(self._judge)

    def _judge(self, image: Image, record: MetadataRecord) -> None:
        """`record` is new in the committed log, and `image` is from before it."""
        if not isinstance(record, NodeUnfenced):
            return
        node = image.node(record.node_id)
        if node is None:
            return
        for host in self._hosts:
            service = host.service
            if not isinstance(service, (BrokerApp, CoordinatorApp)) or service.config.node_id != record.node_id:
                continue
            follower, registration = service.follower, service.registration
            if follower is None or registration is None or registration.broker_epoch != node.epoch:
                continue  # another life of it was let in
            if follower.image.offset < node.fenced_offset:
                raise Violation(
                    f"{host.name} was let in with metadata up to {follower.image.offset}, "
                    f"and its latest fencing is at {node.fenced_offset}"
                )
