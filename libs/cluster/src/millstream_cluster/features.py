"""Feature levels that clients are told by ApiVersions: what the cluster does of what this release can do.

A level is announced once everything it promises works from end to end. A cluster is made with the newest levels, which its
log says from the first record on; a release that comes later changes none of them until somebody asks (UpdateFeatures).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from millstream_cluster.image import Image
from millstream_cluster.metadata_version import NEWEST, OLDEST
from millstream_cluster.records import FeatureRange

METADATA_VERSION = "metadata.version"
GROUP_VERSION = "group.version"
SHARE_VERSION = "share.version"
TRANSACTION_VERSION = "transaction.version"

CLIENT_FEATURES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {GROUP_VERSION: (0, 1), SHARE_VERSION: (0, 1), TRANSACTION_VERSION: (0, 2)}
)
"""Lowest and highest level by name. group.version 1: the consumer group protocol of KIP-848. share.version 1: share groups
(KIP-932). transaction.version 2: transactions whose end raises the producer's epoch (KIP-890)."""

SUPPORTED_FEATURES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {METADATA_VERSION: (OLDEST, NEWEST), **CLIENT_FEATURES}
)
"""Those that clients choose their ways by, and which records this release can read, which says what a cluster may do of all else."""

SUPPORTED_RANGES = tuple(FeatureRange(name, least, most) for name, (least, most) in SUPPORTED_FEATURES.items())
"""The same as nodes say it of themselves when they register."""

UNSET_LEVELS: Mapping[str, int] = MappingProxyType({GROUP_VERSION: 1, SHARE_VERSION: 1, TRANSACTION_VERSION: 2})
"""What holds where the log sets nothing, as in those that release 0.1.0 began: what it did. Never to be raised, and a feature
that comes later begins with its lowest level."""


def feature_level(levels: Mapping[str, int], name: str) -> int:
    """The level that holds; `levels` are those that were set."""
    least, most = SUPPORTED_FEATURES[name]
    return min(levels.get(name, UNSET_LEVELS.get(name, least)), most)


def levels_of(image: Image) -> dict[str, int]:
    """The level that holds of each feature."""
    levels = {name: feature_level(image.feature_levels, name) for name in SUPPORTED_FEATURES}
    return {**levels, METADATA_VERSION: image.metadata_version}


def finalized_features(image: Image) -> dict[str, int]:
    """What clients are told; of a feature at level 0 nothing, as in Kafka."""
    return {name: level for name, level in levels_of(image).items() if level}


def supports(features: Sequence[FeatureRange], name: str, level: int) -> bool:
    """Whether a node that says this of itself does this level; what it does not name it does as release 0.1.0 did."""
    for each in features:
        if each.name == name:
            return each.least <= level <= each.most
    return level <= (OLDEST if name == METADATA_VERSION else UNSET_LEVELS.get(name, SUPPORTED_FEATURES[name][0]))


def unsupported_level(image: Image, features: Sequence[FeatureRange]) -> str | None:
    """A feature at a level that holds here and that such a node does not do."""
    for name, level in levels_of(image).items():
        if not supports(features, name, level):
            return f"{name} {level}"
    return None
