"""The facts the metadata log is made of: one frozen dataclass per record type.

A record says what became true, completely enough that folding records needs no clock and no randomness. Every type keeps
its name and meaning for good: logs on disk outlive releases. In the log each is one Kafka record: its key is the type's name,
its value JSON that a person can read. What may be written depends on the cluster's level (metadata_version.py). Reading is strict: a type,
a field, a value or a level that this version does not know is a RecordError, because skipping a fact would make two nodes see two clusters.
"""

from millstream_cluster.records.acls import AclAdded, AclRemoved
from millstream_cluster.records.cluster import ClusterCreated, ControllerElected, ControllerResigned
from millstream_cluster.records.codec import decode_record, encode_record
from millstream_cluster.records.configs import (
    ClientQuotaChanged,
    ConfigChanged,
    QuotaEntity,
    QuotaEntityType,
    ResourceType,
)
from millstream_cluster.records.features import FeatureLevelSet, MetadataVersionSet
from millstream_cluster.records.logins import (
    DelegationTokenRemoved,
    DelegationTokenSet,
    LoginSecretSet,
    ScramCredentialRemoved,
    ScramCredentialSet,
)
from millstream_cluster.records.metadata_record import MetadataRecord
from millstream_cluster.records.nodes import (
    Endpoint,
    FailedLogDir,
    FeatureRange,
    FenceReason,
    NodeFenced,
    NodeLogDirsChanged,
    NodeRegistered,
    NodeUnfenced,
    NodeUnregistered,
)
from millstream_cluster.records.shards import ProducerIdsAllocated, ShardAssigned
from millstream_cluster.records.topics import (
    LeaderRecoveryState,
    PartitionChanged,
    PartitionCreated,
    TopicCreated,
    TopicDeleted,
)

__all__ = [
    "AclAdded",
    "AclRemoved",
    "ClientQuotaChanged",
    "ClusterCreated",
    "ConfigChanged",
    "ControllerElected",
    "ControllerResigned",
    "DelegationTokenRemoved",
    "DelegationTokenSet",
    "Endpoint",
    "FailedLogDir",
    "FeatureLevelSet",
    "FeatureRange",
    "FenceReason",
    "LeaderRecoveryState",
    "LoginSecretSet",
    "MetadataRecord",
    "MetadataVersionSet",
    "NodeFenced",
    "NodeLogDirsChanged",
    "NodeRegistered",
    "NodeUnfenced",
    "NodeUnregistered",
    "PartitionChanged",
    "PartitionCreated",
    "ProducerIdsAllocated",
    "QuotaEntity",
    "QuotaEntityType",
    "ResourceType",
    "ScramCredentialRemoved",
    "ScramCredentialSet",
    "ShardAssigned",
    "TopicCreated",
    "TopicDeleted",
    "decode_record",
    "encode_record",
]
