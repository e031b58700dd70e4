"""No broker sets aside or deletes the only copy that it has of a partition which the committed log assigns to it, whatever it believes.

A replica that was taken from it and is given back may go meanwhile, as long as nobody counts on it again.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.image import Image
from millstream_log import TopicPartition
from millstream_log.partition_metadata import load_topic_id
from millstream_simulation.checks.committed_metadata import CommittedMetadata
from millstream_simulation.host import Host
from millstream_simulation.story import Violation


class RemovedPartitions:
    def __init__(self, metadata: CommittedMetadata, hosts: Mapping[str, Host]) -> None:
        self._metadata = metadata
        self._hosts = hosts
        self._taken: set[tuple[str, UUID, int]] = set()
        """Replicas that the log took from a broker since it last removed them."""
        metadata.on_committed.append(self._note)

    def _note(self, image: Image, record: r.MetadataRecord) -> None:
        if isinstance(record, r.PartitionChanged):
            before = image.partition(record.topic_id, record.partition)
            for node_id in () if before is None else set(before.replicas) - set(record.replicas):
                self._taken.add((f"broker-{node_id}", record.topic_id, record.partition))

    def hear(self, host: str, record: logging.LogRecord) -> None:
        """By what the broker logs when it does so."""
        message, arguments = str(record.msg), record.args
        if not isinstance(arguments, tuple):
            return
        if message.startswith("partition deleted "):
            name, topic_id = arguments[:2]
        elif message.startswith("partition set aside "):
            name, directory = arguments[:2]
            assert isinstance(directory, Path)
            topic_id = load_topic_id(directory)
        else:
            return
        if isinstance(name, TopicPartition) and isinstance(topic_id, UUID):
            self._judge(host, name, topic_id)

    def _judge(self, host: str, name: TopicPartition, topic_id: UUID) -> None:
        self._metadata.refresh()
        partition = self._metadata.image.partition(topic_id, name.partition)
        was_taken = (host, topic_id, name.partition) in self._taken
        self._taken.discard((host, topic_id, name.partition))
        if partition is None:
            return
        needed = {*partition.isr, *partition.eligible_leader_replicas} if was_taken else partition.replicas
        if any(host == f"broker-{node_id}" for node_id in needed) and not self._has(host, name, topic_id):
            raise Violation(f"{name} was removed from {host}, and the committed log assigns it to it")

    def _has(self, host: str, name: TopicPartition, topic_id: UUID) -> bool:
        """Another copy, in another of its data directories."""
        return any(load_topic_id(each / str(name)) == topic_id for each in self._hosts[host].log_dirs)
