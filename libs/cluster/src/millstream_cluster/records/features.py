"""Records of what the cluster does of the features that releases have."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FeatureLevelSet:
    """From now on the cluster does this much of a feature."""

    name: str
    level: int
