"""What a disk has lost is never led again by who lost it: an empty log is not taken for the one that was acknowledged.

It may make one, as a replica that is not in sync: with one replica nobody is there that it could follow. In each of its lives a
broker says once which partitions it has lost. With several replicas it copies from the others; whether it may be elected then is `replicas`' to say.
"""

import logging
from collections.abc import Mapping

from millstream_broker.app import BrokerApp
from millstream_simulation.host import Host
from millstream_simulation.story import Violation

SAID = "partition lost "


class LostPartitions:
    def __init__(self) -> None:
        self._said: set[tuple[object, object]] = set()
        """A process and a partition's name."""

    def look(self, host: Host) -> None:
        service = host.service
        if not host.lost or not isinstance(service, BrokerApp) or service.partitions is None:
            return
        for key in host.lost.keys() & service.partitions.keys:
            replica = service.partitions.find(*key)
            if replica is not None and replica.partition.leads and len(replica.partition.replicas) == 1:
                raise Violation(f"{host.lost[key]} was lost with its directory, and an empty log is led in its place")

    def hear(self, process: object, record: logging.LogRecord) -> None:
        """By what the broker logs when it finds out."""
        if not str(record.msg).startswith(SAID):
            return
        name = record.args[0] if isinstance(record.args, tuple) else record.args
        assert not isinstance(name, Mapping), "its first field is the partition"
        if (process, name) in self._said:
            raise Violation(f"{name} is lost, and that was said twice")
        self._said.add((process, name))
