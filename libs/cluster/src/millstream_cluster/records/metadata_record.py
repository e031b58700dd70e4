"""Every type of record that the metadata log is made of, as one type."""

from typing import TypeAlias

from millstream_cluster.records.acls import AclAdded, AclRemoved
from millstream_cluster.records.cluster import ClusterCreated, ControllerElected, ControllerResigned
from millstream_cluster.records.configs import ClientQuotaChanged, ConfigChanged
from millstream_cluster.records.features import FeatureLevelSet, MetadataVersionSet
from millstream_cluster.records.logins import (
    DelegationTokenRemoved,
    DelegationTokenSet,
    LoginSecretSet,
    ScramCredentialRemoved,
    ScramCredentialSet,
)
from millstream_cluster.records.nodes import (
    NodeFenced,
    NodeLogDirsChanged,
    NodeRegistered,
    NodeUnfenced,
    NodeUnregistered,
)
from millstream_cluster.records.shards import ProducerIdsAllocated, ShardAssigned
from millstream_cluster.records.topics import PartitionChanged, PartitionCreated, TopicCreated, TopicDeleted

MetadataRecord: TypeAlias = (
    ClusterCreated
    | ControllerElected
    | ControllerResigned
    | NodeRegistered
    | NodeFenced
    | NodeUnfenced
    | NodeLogDirsChanged
    | NodeUnregistered
    | TopicCreated
    | PartitionCreated
    | PartitionChanged
    | TopicDeleted
    | ConfigChanged
    | ClientQuotaChanged
    | FeatureLevelSet
    | MetadataVersionSet
    | ProducerIdsAllocated
    | ShardAssigned
    | ScramCredentialSet
    | ScramCredentialRemoved
    | LoginSecretSet
    | DelegationTokenSet
    | DelegationTokenRemoved
    | AclAdded
    | AclRemoved
)
