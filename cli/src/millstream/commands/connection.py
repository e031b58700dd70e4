"""The cluster that a command's options name, or a profile, with the credentials that they bring."""

from argparse import Namespace
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

from millstream.commands.profiles import BOOTSTRAP, chosen_profile, read_profile
from millstream_client import Cluster, InvalidData, open_cluster
from millstream_client.addresses import DEFAULT_BOOTSTRAP, Address
from millstream_runtime.properties import PropertyError, parse_file
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """What somebody else than the command line says of the cluster."""

    properties: Mapping[str, str]
    reached_at: Mapping[Address, Address]
    """Where nodes are found whose advertised address is of no use here, by that address."""


def cluster_of(options: Namespace) -> AbstractAsyncContextManager[Cluster]:
    """Raises InvalidData."""
    properties = properties_of(options)
    reached_at = options.found.reached_at if options.found is not None else None
    return open_cluster(properties.get(BOOTSTRAP, DEFAULT_BOOTSTRAP), properties=properties, reached_at=reached_at)


def properties_of(options: Namespace) -> dict[str, str]:
    """What says where and how to connect. A profile in use is left alone by who names an address: its password is for another one."""
    if options.found is not None:
        return dict(options.found.properties)
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
