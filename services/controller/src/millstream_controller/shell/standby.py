"""A controller that is not the active one: follows it, and says when it is time to try to take over.

It decides nothing about safety. Whoever tries to take over when it should not loses nothing but the compare-and-swap.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from millstream_cluster.ids import METADATA_TOPIC_ID, NodeId
from millstream_cluster.metadata_version import NEWEST
from millstream_cluster.records import ControllerElected
from millstream_runtime.nodes.client import Client, ClientError, NobodyListens
from millstream_runtime.nodes.credentials import PLAIN, Credentials
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest, FetchResponse
from millstream_wire.messages.fetch import FetchPartition, FetchTopic, ReplicaState
from millstream_wire.records import parse_header, split

logger = logging.getLogger(__name__)

FETCH_WAIT_MS = 500
RETRY_MS = 100
FETCH_MAX_BYTES = 1 << 20
FAILURES_MIN = 3
"""After a pause of ours the deadline may be over at once: the active controller still gets as many tries."""


def ignore(batch: bytes) -> None:
    """For a standby that nobody logs in to."""


class StepsAside(ClientError):
    """The controller that is followed answers that it is not the active one, or not now."""


class Standby:
    """Watches one active controller of one epoch.

    One that answers that it is not the active one counts as silent: it may have lost its store, which this one may reach.
    """

    def __init__(
        self,
        world: World,
        node_id: NodeId,
        active: ControllerElected,
        position: int,
        *,
        takeover_timeout_ms: int,
        has_gone: Callable[[], Awaitable[bool]],
        credentials: Credentials = PLAIN,
        on_batch: Callable[[bytes], None] = ignore,
    ) -> None:
        """`on_batch` is told of each batch that was committed. `has_gone` looks into the store: whether the active controller has resigned, or another was elected."""
        self._world = world
        self._node_id = node_id
        self._active = active
        self._position = position
        self._timeout_ms = takeover_timeout_ms
        self._has_gone = has_gone
        self._credentials = credentials
        self._on_batch = on_batch
        self._client: Client | None = None
        self.had_contact = False
        """Whether the active controller ever answered."""

    async def watch(self) -> bool:
        """Return True when the active controller has gone or was out of reach for too long, False when it is another one.

        It has gone, too, when it was there and its host says again and again that nobody listens any more: its process died.
        """
        # Jittered, so that of several standbys one is first and the others see it.
        patience_ms = self._timeout_ms * self._world.random.uniform(1.0, 1.3)
        heard_ms = self._world.monotonic_ms()
        failures = refusals = 0
        try:
            while True:
                try:
                    response = await self._fetch()
                except ClientError as error:
                    failures += 1
                    refusals = refusals + 1 if isinstance(error, NobodyListens) else 0
                    if failures == 1:
                        logger.info("active controller out of reach id=%d error=%s", self._active.controller_id, error)
                        asked_ms = self._world.monotonic_ms()
                        if await self._has_gone():
                            return True
                        # A store that was away for both of us says nothing about the active controller: it gets its time.
                        heard_ms += self._world.monotonic_ms() - asked_ms
                    if self.had_contact and refusals >= FAILURES_MIN:
                        return True
                    silent_ms = self._world.monotonic_ms() - heard_ms
                    if silent_ms >= patience_ms and failures >= FAILURES_MIN:
                        return True
                    await asyncio.sleep(RETRY_MS / 1000)
                    continue
                heard_ms, failures, refusals = self._world.monotonic_ms(), 0, 0
                self.had_contact = True
                if not self._advance(response):
                    await asyncio.sleep(RETRY_MS / 1000)
                    return False
        finally:
            await self._disconnect()

    async def _fetch(self) -> FetchResponse:
        attempt_ms = max(100, min(2_000, self._timeout_ms // FAILURES_MIN))
        wait_ms = min(FETCH_WAIT_MS, attempt_ms // 2)
        partition = FetchPartition(
            partition=0,
            fetch_offset=self._position,
            current_leader_epoch=self._active.epoch,
            partition_max_bytes=FETCH_MAX_BYTES,
        )
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=self._node_id),
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=FETCH_MAX_BYTES,
            topics=[FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
            metadata_version=NEWEST,
        )
        try:
            client = await self._connected(attempt_ms)
            response: FetchResponse = await client.request(request, timeout_ms=attempt_ms)
        except ClientError:
            await self._disconnect()
            raise
        if response.error_code == ErrorCode.NOT_CONTROLLER:
            raise StepsAside(f"{self._active.host}:{self._active.port} says that it is not the active controller")
        return response

    async def _connected(self, timeout_ms: int) -> Client:
        if self._client is None or self._client.closed:
            host, port = self._active.host, self._active.port
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    self._client = await Client.connect(
                        self._world,
                        host,
                        port,
                        client_id=f"controller-{self._node_id}",
                        node_id=self._node_id,
                        credentials=self._credentials,
                    )
            except TimeoutError as error:
                raise ClientError(f"{host}:{port}: no connection in {timeout_ms} ms") from error
        return self._client

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _advance(self, response: FetchResponse) -> bool:
        """Take note of how far the log is; False if this is not the controller that was expected, or it cannot serve us."""
        if response.error_code != ErrorCode.NONE or not response.responses or not response.responses[0].partitions:
            return False
        data = response.responses[0].partitions[0]
        if data.error_code != ErrorCode.NONE or data.current_leader.leader_epoch != self._active.epoch:
            return False
        if data.snapshot_id.end_offset >= 0:
            return False
        for batch in split(data.records or b""):
            self._on_batch(bytes(batch))
            self._position = max(self._position, parse_header(batch).next_offset)
        return True
