"""What can be wrong with cluster metadata that somebody else wrote."""


class ClusterError(Exception):
    """Root of this package's errors."""


class RecordError(ClusterError):
    """A metadata record that this version cannot read; following such a log must stop, not skip."""


class MetadataTooNew(RecordError):
    """The log is at a level that only a later release can read."""

    def __init__(self, level: int, newest: int) -> None:
        super().__init__(
            f"the cluster's metadata.version is {level} and this release reads up to {newest}: "
            "start this node with the release that raised it (docs/operations.md, 'Upgrades')"
        )


class ImageError(ClusterError):
    """A record that does not fit the records before it, or an Image that breaks its invariant."""
