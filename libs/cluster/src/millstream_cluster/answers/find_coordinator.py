"""FindCoordinator (API key 10), versions 0 to 6, from an Image.

Groups, transactions, and (version 6) the state of share partitions, whose keys are those of `share_key`.
"""

from millstream_cluster.ids import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from millstream_cluster.image import Image
from millstream_cluster.shard import is_share_key, shard_of
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FindCoordinatorRequest, FindCoordinatorResponse
from millstream_wire.messages.find_coordinator import Coordinator

GROUP = 0
TRANSACTION = 1
SHARE = 2
BATCHED_SINCE = 4
SHARE_SINCE = 6
_TOPICS = {GROUP: OFFSETS_TOPIC, TRANSACTION: TRANSACTIONS_TOPIC, SHARE: SHARE_STATE_TOPIC}


def find_coordinator(
    image: Image, request: FindCoordinatorRequest, version: int, *, listener_name: str
) -> FindCoordinatorResponse:
    """Name the live owner of each key's shard; COORDINATOR_NOT_AVAILABLE while there is none."""
    if version >= BATCHED_SINCE:
        keys = request.coordinator_keys
        return FindCoordinatorResponse(
            coordinators=[_coordinator(image, key, request.key_type, version, listener_name) for key in keys]
        )
    found = _coordinator(image, request.key, request.key_type, version, listener_name)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or "NONE",
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def missing_topic(image: Image, request: FindCoordinatorRequest) -> str | None:
    """The coordinator topic that the answer waits for and that the caller has to ask to be created."""
    topic = _TOPICS.get(request.key_type)
    return topic if topic is not None and image.topic(topic) is None else None


def _coordinator(image: Image, key: str, key_type: int, version: int, listener_name: str) -> Coordinator:
    name = _TOPICS.get(key_type)
    if name is None or (key_type == SHARE and version < SHARE_SINCE):
        return _error(key, ErrorCode.INVALID_REQUEST, f"This cluster does not support key type {key_type}")
    if key_type == SHARE and not is_share_key(key):
        return _error(key, ErrorCode.INVALID_REQUEST, "The key of a share partition is group:topicId:partition")
    topic = image.topic(name)
    if topic is None or not topic.partitions:
        return _error(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, f"The topic {name} is being created")
    shard = image.shard(topic.topic_id, shard_of(key, len(topic.partitions)))
    node = image.node(shard.coordinator_id) if shard is not None else None
    endpoint = node.endpoint(listener_name) if node is not None and not node.fenced else None
    if node is None or endpoint is None:
        return _error(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, f"No coordinator owns the shard of {name}")
    return Coordinator(key=key, node_id=node.node_id, host=endpoint.host, port=endpoint.port, error_message="")


def _error(key: str, code: ErrorCode, message: str) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=message)
