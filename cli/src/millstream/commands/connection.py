"""The cluster that a command's options name, with the credentials that they bring."""

from argparse import Namespace
from contextlib import AbstractAsyncContextManager

from millstream_client import Cluster, InvalidData, open_cluster
from millstream_runtime.properties import PropertyError, parse_file


def cluster_of(options: Namespace) -> AbstractAsyncContextManager[Cluster]:
    """Raises InvalidData."""
    try:
        properties = parse_file(options.command_config) if options.command_config is not None else {}
    except PropertyError as error:
        raise InvalidData(str(error)) from None
    return open_cluster(options.bootstrap, properties=properties)
