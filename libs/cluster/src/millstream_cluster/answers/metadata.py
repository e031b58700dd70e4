"""Metadata (API key 3), versions 0 to 13, from an Image.

Coordinators with a port of their own are among the nodes: a client whose group they coordinate drops them otherwise at the
next refresh. Leaves out what it does not know of: creating the topics that are missing is the caller's (`missing_topics`).
"""

from millstream_cluster.acls import AclOperation, AclResource, May, permits
from millstream_cluster.answers.doors import doors
from millstream_cluster.answers.operations import NOT_ASKED, authorized_operations, cluster_operations
from millstream_cluster.answers.topic_name import is_valid_topic_name
from millstream_cluster.ids import (
    COORDINATOR_TOPICS,
    METADATA_TOPIC,
    NO_NODE,
    SHARE_STATE_TOPIC,
    TRANSACTIONS_TOPIC,
    Role,
)
from millstream_cluster.image import Image
from millstream_cluster.members import Node, Partition, Topic
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import MetadataRequest, MetadataResponse
from millstream_wire.messages.metadata import (
    MetadataRequestTopic,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from millstream_wire.schema import ZERO_UUID

RESERVED_TOPICS = frozenset({METADATA_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC})
"""Topics that looking for them must not create: no topic, or one that only a coordinator has created."""


TOPIC_IDS_SINCE = 12
"""In versions 10 and 11 requests have a place for ids and for null names, and neither is taken."""


def metadata(
    image: Image,
    request: MetadataRequest,
    version: int,
    *,
    listener_name: str,
    may: May | None = None,
    creates: bool = False,
) -> MetadataResponse:
    """Answer as clients of `listener_name` see the cluster; a topic that does not exist is an error in its place.

    `creates`: missing topics are being created for those who may create them, and others are told that they may not.
    """
    if _is_refused(request, version):
        topics = [
            MetadataResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=topic.name or "", topic_id=topic.topic_id)
            for topic in request.topics or ()
        ]
        return MetadataResponse(topics=topics)
    asked = _asked_topics(request, version)
    if asked is None:
        topics = [_topic(image, topic) for topic in image.topics.values() if _is_shown(may, topic.name)]
    else:
        once = {topic.name if topic.topic_id == ZERO_UUID else topic.topic_id: topic for topic in asked}
        topics = [_asked_topic(image, topic, may, creates=creates) for topic in once.values()]
    if request.include_topic_authorized_operations:
        for told in topics:
            if told.error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED and told.name is not None:
                told.topic_authorized_operations = authorized_operations(may, AclResource.TOPIC, told.name)
    return MetadataResponse(
        brokers=[_broker(node, listener_name) for node in doors(image)],
        cluster_id=image.cluster_id,
        controller_id=any_live_broker(image),
        topics=topics,
        cluster_authorized_operations=(
            cluster_operations(may) if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def missing_topics(image: Image, request: MetadataRequest, version: int, may: May | None = None) -> list[str]:
    """Valid names that were asked for and do not exist: what automatic creation may create for who asks."""
    if _is_refused(request, version):
        return []
    names = (topic.name for topic in _asked_topics(request, version) or () if topic.topic_id == ZERO_UUID)
    missing = [name for name in names if name is not None and _is_creatable(name) and image.topic(name) is None]
    return [name for name in missing if _is_shown(may, name) and _may_create(may, name)]


def any_live_broker(image: Image) -> int:
    """The broker that clients are told is the controller: any will do, since every broker forwards to the real one."""
    return min(
        (node.node_id for node in image.nodes.values() if node.role is Role.BROKER and not node.fenced), default=NO_NODE
    )


def offline_replicas(image: Image, partition: Partition) -> list[int]:
    return [
        replica
        for replica in partition.replicas
        if (node := image.node(replica)) is None or node.fenced or not partition.is_usable_at(node)
    ]


def _is_shown(may: May | None, topic: str) -> bool:
    return permits(may, AclOperation.DESCRIBE, AclResource.TOPIC, topic)


def _may_create(may: May | None, topic: str) -> bool:
    in_cluster = permits(may, AclOperation.CREATE, AclResource.CLUSTER)
    return in_cluster or permits(may, AclOperation.CREATE, AclResource.TOPIC, topic)


def _is_creatable(name: str) -> bool:
    return is_valid_topic_name(name) and name not in RESERVED_TOPICS


def _is_refused(request: MetadataRequest, version: int) -> bool:
    return version < TOPIC_IDS_SINCE and any(
        topic.name is None or topic.topic_id != ZERO_UUID for topic in request.topics or ()
    )


def _asked_topics(request: MetadataRequest, version: int) -> list[MetadataRequestTopic] | None:
    """None means all. Before version 1 there was no null: an empty list asked for all.

    Where one topic is asked for by its id, those that are asked for by name only are left out, as in Kafka.
    """
    if version == 0 and not request.topics:
        return None
    by_id = [topic for topic in request.topics or () if topic.topic_id != ZERO_UUID]
    return by_id or request.topics


def _asked_topic(image: Image, asked: MetadataRequestTopic, may: May | None, *, creates: bool) -> MetadataResponseTopic:
    """Of a name that may not be described nobody learns whether it is one; ids are no secret."""
    if asked.topic_id != ZERO_UUID:
        topic = image.topic(asked.topic_id)
        if topic is None:
            return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=asked.topic_id)
        if not _is_shown(may, topic.name):
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            return MetadataResponseTopic(error_code=code, name=None, topic_id=asked.topic_id)
        return _topic(image, topic)
    name = asked.name or ""
    if not _is_shown(may, name):
        return MetadataResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name)
    if not is_valid_topic_name(name):
        return MetadataResponseTopic(error_code=ErrorCode.INVALID_TOPIC_EXCEPTION, name=name)
    topic = image.topic(name)
    if topic is None:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if creates and not _may_create(may, name):
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return MetadataResponseTopic(error_code=code, name=name, is_internal=name in COORDINATOR_TOPICS)
    return _topic(image, topic)


def _topic(image: Image, topic: Topic) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.internal,
        partitions=[_partition(image, partition) for partition in topic.partitions],
    )


def _partition(image: Image, partition: Partition) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=ErrorCode.NONE if partition.online else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=partition.partition,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=offline_replicas(image, partition),
    )


def _broker(node: Node, listener_name: str) -> MetadataResponseBroker:
    endpoint = node.endpoint(listener_name)
    assert endpoint is not None, f"node {node.node_id} registered without a listener"
    return MetadataResponseBroker(node_id=node.node_id, host=endpoint.host, port=endpoint.port, rack=node.rack)
