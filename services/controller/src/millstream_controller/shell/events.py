"""What the controller's log says of committed records: one line per event, many changes of a kind as their number."""

import logging
from collections.abc import Iterable

from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE, uuid_text

logger = logging.getLogger(__name__)


def log_committed(records: Iterable[r.MetadataRecord]) -> None:
    """Registrations, claims and elections are told where they are asked for, with more than the record knows."""
    changed = leaderless = 0
    for record in records:
        match record:
            case r.NodeFenced() if record.since_ms:
                logger.info("node away node=%d epoch=%d since_ms=%d", record.node_id, record.epoch, record.since_ms)
            case r.NodeFenced():
                logger.info("node fenced node=%d epoch=%d reason=%s", record.node_id, record.epoch, record.reason)
            case r.NodeUnfenced():
                logger.info("node unfenced node=%d epoch=%d", record.node_id, record.epoch)
            case r.NodeLogDirsChanged():
                left, away = len(record.log_dirs), len(record.failed)
                logger.warning("log directories of a node node=%d left=%d away_for_long=%d", record.node_id, left, away)
            case r.NodeUnregistered():
                logger.info("node unregistered node=%d epoch=%d", record.node_id, record.epoch)
            case r.TopicCreated():
                logger.info("topic created topic=%s id=%s", record.name, uuid_text(record.topic_id))
            case r.TopicDeleted():
                logger.info("topic deleted id=%s", uuid_text(record.topic_id))
            case r.ConfigChanged():
                resource = f"{record.resource_type}:{record.resource_name}"
                logger.info("config changed resource=%s key=%s", resource, record.key)
            case r.MetadataVersionSet():
                logger.info("metadata.version set level=%d", record.level)
            case r.FeatureLevelSet():
                logger.info("feature level set feature=%s level=%d", record.name, record.level)
            case r.ClientQuotaChanged():
                entity = ",".join(f"{part.type}:{part.name or '<default>'}" for part in record.entity)
                logger.info("client quota changed entity=%s key=%s value=%s", entity, record.key, record.value)
            case r.PartitionChanged():
                changed += 1
                leaderless += record.leader == NO_NODE
            case _:
                pass
    if changed:
        logger.info("partitions changed count=%d without_leader=%d", changed, leaderless)
