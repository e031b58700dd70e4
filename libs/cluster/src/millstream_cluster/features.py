"""Feature levels that clients are told by ApiVersions: what this release can do is what the cluster does.

A level is announced once everything it promises works from end to end. There is nothing to upgrade to yet, so the
finalized level is the highest supported one.
"""

from collections.abc import Mapping
from types import MappingProxyType

SUPPORTED_FEATURES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"group.version": (0, 1), "transaction.version": (0, 2)}
)
"""Lowest and highest level by name. group.version 1: the consumer group protocol of KIP-848. transaction.version 2:
transactions whose end raises the producer's epoch (KIP-890)."""
FINALIZED_FEATURES: Mapping[str, int] = MappingProxyType({name: most for name, (_, most) in SUPPORTED_FEATURES.items()})
