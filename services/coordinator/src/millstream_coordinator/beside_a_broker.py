"""What a coordinator serves where it shares a broker's listeners; everything else there is the broker's.

Of two APIs both have a part: producer ids with and without a transactional id, and markers in groups' offsets and in data.
"""

from collections.abc import Mapping

from millstream_cluster.ids import OFFSETS_TOPIC
from millstream_coordinator.api import HANDLERS
from millstream_runtime.serving.door import Claim, always
from millstream_wire.api import ApiKey
from millstream_wire.messages import InitProducerIdRequest, WriteTxnMarkersRequest

BROKERS = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.METADATA,
        ApiKey.FIND_COORDINATOR,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.PUSH_TELEMETRY,
        ApiKey.LIST_CONFIG_RESOURCES,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
)
"""What clients ask any node: the broker says the same, and more of itself."""


def is_transactional(request: InitProducerIdRequest) -> bool:
    return request.transactional_id is not None


def ends_in_groups(request: WriteTxnMarkersRequest) -> bool:
    """As other coordinators send them; a marker of an administrator is for one partition of data."""
    topics = {topic.name for marker in request.markers for topic in marker.topics}
    return topics == {OFFSETS_TOPIC}


CLAIMS: Mapping[ApiKey, Claim] = {
    **{key: always for key in HANDLERS if key not in BROKERS},
    ApiKey.INIT_PRODUCER_ID: is_transactional,
    ApiKey.WRITE_TXN_MARKERS: ends_in_groups,
}
