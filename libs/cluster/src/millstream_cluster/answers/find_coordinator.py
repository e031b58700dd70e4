"""FindCoordinator (API key 10), versions 0 to 6, from an Image.

Groups, transactions, and (version 6) the state of share partitions, whose keys are those of `share_key`.
"""

from millstream_cluster.acls import CLUSTER_NAME, AclOperation, AclResource, May, permits
from millstream_cluster.answers.doors import door_of
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
_MESSAGES = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Not authorized to access this group.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Not authorized to access this transactional id.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Not authorized to access the cluster.",
    ErrorCode.INVALID_REQUEST: (
        "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
        "incompatible broker. See the broker logs for more details."
    ),
}
"""Kafka's, which it gives in versions 1 to 3 and, of a key type that it does not know, later."""


def find_coordinator(
    image: Image, request: FindCoordinatorRequest, version: int, *, listener_name: str, may: May | None = None
) -> FindCoordinatorResponse:
    """Name the live owner of each key's shard; COORDINATOR_NOT_AVAILABLE while there is none."""

    def find(key: str) -> Coordinator:
        refusal = _refusal(may, request.key_type, key)
        if refusal is not ErrorCode.NONE:
            return _error(key, refusal, _MESSAGES[refusal])
        return _coordinator(image, key, request.key_type, version, listener_name)

    if version >= BATCHED_SINCE:
        return FindCoordinatorResponse(coordinators=[find(key) for key in request.coordinator_keys])
    found = find(request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=_MESSAGES[ErrorCode(found.error_code)],
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def missing_topic(image: Image, request: FindCoordinatorRequest, may: May | None = None) -> str | None:
    """The coordinator topic that the answer waits for and that the caller has to ask to be created."""
    topic = _TOPICS.get(request.key_type)
    if topic is None or image.topic(topic) is not None:
        return None
    keys = request.coordinator_keys or [request.key]
    return topic if any(_refusal(may, request.key_type, key) is ErrorCode.NONE for key in keys) else None


def _refusal(may: May | None, key_type: int, key: str) -> ErrorCode:
    operation, resource, code = AclOperation.DESCRIBE, AclResource.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED
    if key_type == TRANSACTION:
        resource, code = AclResource.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif key_type == SHARE:
        operation, resource = AclOperation.CLUSTER_ACTION, AclResource.CLUSTER
        key, code = CLUSTER_NAME, ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    elif key_type != GROUP:
        return ErrorCode.NONE  # there is no such thing, which is another answer
    return ErrorCode.NONE if permits(may, operation, resource, key) else code


def _coordinator(image: Image, key: str, key_type: int, version: int, listener_name: str) -> Coordinator:
    name = _TOPICS.get(key_type)
    if name is None:
        return _error(key, ErrorCode.INVALID_REQUEST, _MESSAGES[ErrorCode.INVALID_REQUEST])
    if key_type == SHARE and (version < SHARE_SINCE or not is_share_key(key)):
        return _error(key, ErrorCode.INVALID_REQUEST)
    topic = image.topic(name)
    if topic is None or not topic.partitions:
        return _error(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    shard = image.shard(topic.topic_id, shard_of(key, len(topic.partitions)))
    node = image.node(shard.coordinator_id) if shard is not None else None
    if node is None or node.fenced:
        return _error(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    door = door_of(image, node)
    endpoint = door.endpoint(listener_name)
    assert endpoint is not None, f"node {door.node_id} registered without a listener"
    return Coordinator(key=key, node_id=door.node_id, host=endpoint.host, port=endpoint.port, error_message="")


def _error(key: str, code: ErrorCode, message: str = "") -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=message)
