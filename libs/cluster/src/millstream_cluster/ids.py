"""The numbers that name things in a cluster, kept apart by type, and the roles that node ids imply.

Plain values only: nothing here looks anything up.
"""

import base64
from enum import Enum
from typing import NewType
from uuid import UUID

NodeId = NewType("NodeId", int)
BrokerEpoch = NewType("BrokerEpoch", int)
ControllerEpoch = NewType("ControllerEpoch", int)
LeaderEpoch = NewType("LeaderEpoch", int)
PartitionEpoch = NewType("PartitionEpoch", int)
Offset = NewType("Offset", int)
ProducerId = NewType("ProducerId", int)
ProducerEpoch = NewType("ProducerEpoch", int)

NO_NODE = NodeId(-1)
"""The leader of a partition that has none, the owner of a shard that has none."""
NO_EPOCH = BrokerEpoch(-1)
"""The epoch of a node that is not registered."""

COORDINATOR_ID_BASE = 10_000
CONTROLLER_ID_BASE = 20_000
NODE_ID_END = 30_000

METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = UUID(int=1)
UNASSIGNED_DIRECTORY = UUID(int=0)
"""Where a replica is whose broker has not said it, or need not since it has one directory: Kafka's reserved id."""
LOST_DIRECTORY = UUID(int=1)
"""Where a replica is that its broker has lost: Kafka's reserved id among those of log directories."""
UNOPENED_DIRECTORY = UUID(int=99)
"""Where a replica is that its broker cannot open now and tries again: no directory's id, as Kafka reserves those below 100."""
OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
COORDINATOR_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC})
"""Topics whose partitions are shards: a coordinator owns each and nobody else writes to it."""


class Role(Enum):
    """What a node does; it follows from its id, so that one number space serves all clients."""

    BROKER = "broker"
    COORDINATOR = "coordinator"
    CONTROLLER = "controller"


def role_of(node_id: int) -> Role:
    """Tell the role from the id; an id outside every range is a ValueError."""
    if 0 <= node_id < COORDINATOR_ID_BASE:
        return Role.BROKER
    if COORDINATOR_ID_BASE <= node_id < CONTROLLER_ID_BASE:
        return Role.COORDINATOR
    if CONTROLLER_ID_BASE <= node_id < NODE_ID_END:
        return Role.CONTROLLER
    raise ValueError(f"node id {node_id} is outside 0..{NODE_ID_END - 1}")


def node_id_of(role: Role, number: int) -> NodeId:
    """The id that the node with this `node.id` has when it plays this role."""
    if not 0 <= number < COORDINATOR_ID_BASE:
        raise ValueError(f"node.id {number} is outside 0..{COORDINATOR_ID_BASE - 1}")
    base = {Role.BROKER: 0, Role.COORDINATOR: COORDINATOR_ID_BASE, Role.CONTROLLER: CONTROLLER_ID_BASE}[role]
    return NodeId(base + number)


def uuid_text(value: UUID) -> str:
    """Write a UUID as Kafka's tools print it: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_uuid(text: str) -> UUID:
    """Read what `uuid_text` wrote; anything else is a ValueError."""
    data = base64.urlsafe_b64decode(text + "==")
    if len(data) != 16 or len(text) != 22:
        raise ValueError(f"{text!r} is not a UUID of 22 base64 characters")
    return UUID(bytes=data)
