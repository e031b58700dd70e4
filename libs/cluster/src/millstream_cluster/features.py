"""Feature levels that clients are told by ApiVersions: what the cluster does of what this release can do.

A level is announced once everything it promises works from end to end. A feature whose level nobody has set
(UpdateFeatures) has the highest that is supported: there is no older release to wait for.
"""

from collections.abc import Mapping
from types import MappingProxyType

GROUP_VERSION = "group.version"
SHARE_VERSION = "share.version"
TRANSACTION_VERSION = "transaction.version"

SUPPORTED_FEATURES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {GROUP_VERSION: (0, 1), SHARE_VERSION: (0, 1), TRANSACTION_VERSION: (0, 2)}
)
"""Lowest and highest level by name. group.version 1: the consumer group protocol of KIP-848. share.version 1: share groups
(KIP-932). transaction.version 2: transactions whose end raises the producer's epoch (KIP-890)."""


def feature_level(levels: Mapping[str, int], name: str) -> int:
    """The level that holds; `levels` are those that were set."""
    _, most = SUPPORTED_FEATURES[name]
    return min(levels.get(name, most), most)


def finalized_features(levels: Mapping[str, int]) -> dict[str, int]:
    """What clients are told; of a feature at level 0 nothing, as in Kafka."""
    current = {name: feature_level(levels, name) for name in SUPPORTED_FEATURES}
    return {name: level for name, level in current.items() if level}
