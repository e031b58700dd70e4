"""The cluster that a command's options name, or a profile, with the credentials that they bring."""

from argparse import Namespace
from contextlib import AbstractAsyncContextManager

from millstream.commands.profiles import BOOTSTRAP, chosen_profile, read_profile
from millstream_client import Cluster, InvalidData, open_cluster
from millstream_client.addresses import DEFAULT_BOOTSTRAP
from millstream_runtime.properties import PropertyError, parse_file


def cluster_of(options: Namespace) -> AbstractAsyncContextManager[Cluster]:
    """Raises InvalidData."""
    properties = properties_of(options)
    return open_cluster(properties.get(BOOTSTRAP, DEFAULT_BOOTSTRAP), properties=properties)


def properties_of(options: Namespace) -> dict[str, str]:
    """What says where and how to connect. A profile in use is left alone by who names an address: its password is for another one."""
    name = options.profile
    if name is None and options.bootstrap is None and options.command_config is None:
        name = chosen_profile()
    try:
        properties = read_profile(name) if name is not None else {}
        if options.command_config is not None:
            properties |= parse_file(options.command_config)
    except PropertyError as error:
        raise InvalidData(str(error)) from None
    if options.bootstrap is not None:
        properties[BOOTSTRAP] = options.bootstrap
    return properties
