"""Records of what the cluster does of the features that releases have, and of which records it may hold at all."""

from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FeatureLevelSet:
    """From now on the cluster does this much of a feature."""

    name: str
    level: int


@dataclass(frozen=True, slots=True)
class MetadataVersionSet:
    """From the next record on the log may hold what this level has (metadata_version.py); a snapshot begins with it.

    A type of its own and no FeatureLevelSet: release 0.1.0, which would take that one in and go on, stops here.
    """

    level: int
