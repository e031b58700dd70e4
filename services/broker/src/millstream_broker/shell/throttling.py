"""Client quotas at work: what a request moved is counted, and a client over its rate is told to wait and not read meanwhile.

The cluster's own traffic, that of nodes, is nobody's quota.
"""

from collections.abc import Iterable
from uuid import UUID

from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_cluster.image import Image
from millstream_cluster.quotas.client_quota import ClientQuota
from millstream_cluster.quotas.keys import FETCHED, PRODUCED, REQUEST_TIME
from millstream_cluster.quotas.windows import Windows
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.request_time import client_of
from millstream_runtime.world import World
from millstream_wire.messages import ProduceRequest


class Throttling:
    def __init__(self, world: World, windows: Windows) -> None:
        self.produce = ClientQuota(PRODUCED, windows)
        self.fetch = ClientQuota(FETCHED, windows)
        self.changes_answers = False
        """Whether a fetch may have to be answered with a time to wait."""
        self._world = world

    def on_image(self, image: Image) -> None:
        quotas = image.client_quotas
        self.produce.configure(quotas)
        self.fetch.configure(quotas)
        self.changes_answers = self.fetch.active or any(REQUEST_TIME in values for values in quotas.values())

    def produced(self, request: ProduceRequest, image: Image, context: RequestContext, *, by_id: bool) -> int:
        """Count a request's batches; the milliseconds its client has to wait."""
        size = 0
        for data in request.topic_data:
            name: str | UUID = data.topic_id if by_id else data.name
            topic = image.topic(name)
            if topic is not None:
                size += sum(len(partition.records or b"") for partition in data.partition_data)
        return self._charge(self.produce, size, context)

    def fetched(self, reads: Iterable[tuple[HostedPartition, int]], context: RequestContext) -> int:
        """Count what is about to be sent; the milliseconds its client has to wait after it."""
        size = sum(size for _, size in reads)
        return self._charge(self.fetch, size, context)

    def fetch_max_bytes(self, context: RequestContext) -> int | None:
        """The most that one Fetch of this client may be answered with, or None."""
        client = client_of(context)
        return None if client is None else self.fetch.burst(client)

    def _charge(self, quota: ClientQuota, size: int, context: RequestContext) -> int:
        client = client_of(context)
        if client is None:
            return 0
        throttle_ms = quota.charge(client, size, self._world.monotonic_ms())
        if throttle_ms:
            context.connection.mute(throttle_ms)
        return throttle_ms
