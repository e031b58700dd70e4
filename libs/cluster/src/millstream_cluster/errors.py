"""What can be wrong with cluster metadata that somebody else wrote."""


class ClusterError(Exception):
    """Root of this package's errors."""


class RecordError(ClusterError):
    """A metadata record that this version cannot read; following such a log must stop, not skip."""


class ImageError(ClusterError):
    """A record that does not fit the records before it, or an Image that breaks its invariant."""
