"""metadata.version: which record types and fields the metadata log may hold (docs/decisions/metadata-version.md).

Records are written at the level that the cluster has finalized and read up to the newest that this release knows. A type or
field that is not named here is of the oldest level. Numbers are Kafka's for the release that a level is named after, because
its tools print those names; what a level holds is ours alone.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType


class MetadataVersion(IntEnum):
    RELEASE_0_1 = 7
    """What release 0.1.0 wrote; Kafka's tools call it 3.3-IV3, the lowest that they know."""
    RELEASE_0_2 = 25
    """Reassignment, eligible leader replicas (KIP-966), several directories (KIP-858), ACLs and logins; in Kafka's tools 4.0-IV3."""


OLDEST = min(MetadataVersion)
"""The level of a cluster that never set one, and of a node that never said what it reads."""
NEWEST = max(MetadataVersion)

_PARTITION_FIELDS = (
    "adding_replicas",
    "removing_replicas",
    "eligible_leader_replicas",
    "last_known_elr",
    "leader_recovery_state",
    "directories",
)

_TYPES_OF_0_2 = (
    "MetadataVersionSet",
    "AclAdded",
    "AclRemoved",
    "ScramCredentialSet",
    "ScramCredentialRemoved",
    "LoginSecretSet",
    "DelegationTokenSet",
    "DelegationTokenRemoved",
    "NodeLogDirsChanged",
)

TYPES_SINCE: Mapping[str, MetadataVersion] = MappingProxyType(dict.fromkeys(_TYPES_OF_0_2, MetadataVersion.RELEASE_0_2))
"""Record types that came with a level."""

FIELDS_SINCE: Mapping[tuple[str, str], MetadataVersion] = MappingProxyType(
    {
        **{("PartitionCreated", name): MetadataVersion.RELEASE_0_2 for name in _PARTITION_FIELDS},
        **{("PartitionChanged", name): MetadataVersion.RELEASE_0_2 for name in _PARTITION_FIELDS},
        ("NodeFenced", "since_ms"): MetadataVersion.RELEASE_0_2,
        ("NodeFenced", "reason"): MetadataVersion.RELEASE_0_2,
        ("NodeRegistered", "log_dirs"): MetadataVersion.RELEASE_0_2,
        ("NodeRegistered", "features"): MetadataVersion.RELEASE_0_2,
        ("NodeRegistered", "previous_epoch"): MetadataVersion.RELEASE_0_2,
    }
)
"""Fields that came with a level, by their record's type and their name. Each has a default: what it is in older records."""


def type_since(record_type: str) -> MetadataVersion:
    return TYPES_SINCE.get(record_type, OLDEST)


def field_since(record_type: str, field: str) -> MetadataVersion:
    return FIELDS_SINCE.get((record_type, field), type_since(record_type))
