"""Quotas of partitions created and deleted (controller_mutation_rate): kept by the active controller, in memory; the next one begins anew."""

from typing import TypeVar

from millstream_cluster.image import Image
from millstream_cluster.quotas.mutation_quota import UNLIMITED, Allowance, MutationQuota
from millstream_cluster.quotas.windows import Windows
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.request_time import client_of
from millstream_runtime.world import World
from millstream_wire.messages import CreatePartitionsResponse, CreateTopicsResponse, DeleteTopicsResponse

R = TypeVar("R", CreatePartitionsResponse, CreateTopicsResponse, DeleteTopicsResponse)


class Mutations:
    def __init__(self, world: World, windows: Windows) -> None:
        self.quota = MutationQuota(windows)
        self._world = world

    def allowance(self, image: Image, context: RequestContext, *, strict_since: int) -> Allowance:
        """What a request may change; since this version its client knows THROTTLING_QUOTA_EXCEEDED."""
        client = client_of(context)
        if client is None:
            return UNLIMITED
        self.quota.configure(image.client_quotas)
        return self.quota.allowance(client, self._world.monotonic_ms(), is_strict=context.version >= strict_since)


def told(answer: R, allowance: Allowance, context: RequestContext) -> R:
    """The answer, with how long its client has to wait; where the client is another node's, that one sees to it."""
    answer.throttle_time_ms = allowance.throttle_ms
    if allowance.throttle_ms:
        context.connection.mute(allowance.throttle_ms)
    return answer
