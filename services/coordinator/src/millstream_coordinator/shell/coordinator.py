"""What handlers get of the coordinator: its view of the cluster, its shards, and the ways to others."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast
from uuid import UUID

from millstream_cluster.answers.metadata import any_live_broker
from millstream_cluster.decision import Decision
from millstream_cluster.image import Image
from millstream_cluster.shard import share_key
from millstream_coordinator.config import CoordinatorConfig
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.journal.bounds import fits
from millstream_coordinator.shell.groups.groups import Groups
from millstream_coordinator.shell.initial_offsets import InitialOffsets
from millstream_coordinator.shell.shards.partition import Connections
from millstream_coordinator.shell.shards.shards import Shards
from millstream_coordinator.shell.share_states.nodes import ShareStateNodes
from millstream_coordinator.shell.share_states.share_states import ShareStates
from millstream_coordinator.shell.topic_creation import TopicCreation
from millstream_coordinator.shell.transactions.nodes import TransactionNodes
from millstream_coordinator.shell.transactions.transactions import Transactions
from millstream_runtime.nodes.client import Disconnected
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.nodes.live_coordinators import LiveCoordinators
from millstream_runtime.nodes.session import Session
from millstream_runtime.nodes.suspects import Suspects
from millstream_runtime.replicated import NotCommitted
from millstream_runtime.serving.context import RawReply
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.schema import Request, Response

T = TypeVar("T")
R = TypeVar("R", bound=Response)

UNCERTAIN_MS = 2_000
PREFIX_MAX = 249
"""Of member ids: client ids can be longer than what is stored."""


class Coordinator:
    def __init__(
        self,
        config: CoordinatorConfig,
        world: World,
        *,
        controllers: ControllerLink,
        connections: Connections,
        shards: Shards[Groups],
        transaction_shards: Shards[Transactions],
        share_state_shards: Shards[ShareStates],
        share_state_nodes: ShareStateNodes,
        transaction_nodes: TransactionNodes,
        topic_creation: TopicCreation,
        session: Session,
        image: Callable[[], Image],
    ) -> None:
        self.config = config
        self.world = world
        self.controllers = controllers
        self.shards = shards
        self.transaction_shards = transaction_shards
        self.share_state_shards = share_state_shards
        self.share_state_nodes = share_state_nodes
        self.transaction_nodes = transaction_nodes
        self.topic_creation = topic_creation
        self.live_coordinators = LiveCoordinators(world, image, connections.interest)
        self.suspects = Suspects(world, image, connections.interest)
        connections.appends.on_lost = self._on_lost
        self._brokers = connections.reads
        self.initial_offsets = InitialOffsets(connections.reads, image, timeout_ms=config.offsets_commit_timeout_ms)
        self._session = session
        self._image = image

    @property
    def image(self) -> Image:
        return self._image()

    def groups_of(self, group_id: str) -> Groups | ErrorCode:
        """Where the group is kept, or what its client has to be told."""
        return self.shards.of(group_id) if fits(group_id) else ErrorCode.INVALID_GROUP_ID

    def transactions_of(self, transactional_id: str) -> Transactions | ErrorCode:
        """Where the transactional id is kept, or what its client has to be told."""
        if not transactional_id or not fits(transactional_id):
            return ErrorCode.INVALID_REQUEST
        return self.transaction_shards.of(transactional_id)

    def share_states_of(self, group_id: str, topic_id: UUID, partition: int) -> ShareStates | ErrorCode:
        """Where the state of the share partition is kept, or what who asks has to be told."""
        if not group_id or not fits(group_id):
            return ErrorCode.INVALID_GROUP_ID
        return self.share_state_shards.of(share_key(group_id, topic_id, partition))

    async def committed(self, outcome: Awaitable[T]) -> T | ErrorCode:
        """The outcome once it is in the log; if that takes too long, the client is to ask again."""
        try:
            async with asyncio.timeout(self._patience_ms / 1000):
                return await outcome
        except NotCommitted:
            return ErrorCode.NOT_COORDINATOR
        except TimeoutError:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE

    @property
    def _patience_ms(self) -> int:
        """Once somebody else may have the shard, a log that does not take what is written there says that this node is cut off."""
        patience_ms = self.config.offsets_commit_timeout_ms
        return patience_ms if self._session.is_certain else min(patience_ms, UNCERTAIN_MS)

    async def confirmed(self, *served: Groups | Transactions) -> ErrorCode:
        """NONE once it is certain that these shards are ours; at once while our session runs."""
        for shard in served:
            if error := await self.committed(shard.confirm()):
                return error
        return ErrorCode.NONE

    async def look(self, group_id: str, seen: Callable[[GroupShard], T]) -> T | ErrorCode:
        """Call `seen` with the shard that keeps the group, and return its result once everything that it saw is committed.

        An error instead if the group is not kept here.
        """
        groups = self.groups_of(group_id)
        if isinstance(groups, ErrorCode):
            return groups
        return await self.committed(groups.execute(lambda shard, _: Decision((), seen(shard))))

    async def ask_broker(self, message: Request[R]) -> R:
        """Have a live broker answer this, in this node's own name; a ClientError if there is none that does."""
        host, port = self._any_broker()
        return cast(R, await self._brokers.request(host, port, message, timeout_ms=self.config.request_timeout_ms))

    async def forward_to_broker(self, frame: memoryview | bytes) -> RawReply:
        """Have a live broker answer what a client says of itself; for nothing that not every client may do.

        The broker sees this node as the peer, and the client's own client id.
        """
        host, port = self._any_broker()
        return RawReply([await self._brokers.forward(host, port, frame, timeout_ms=self.config.request_timeout_ms)])

    def _on_lost(self, host: str, port: int) -> None:
        """A connection to a broker broke."""
        for node_id, broker in self.image.brokers.items():
            endpoint = broker.endpoint("")
            if endpoint is not None and (endpoint.host, endpoint.port) == (host, port):
                self.suspects.lost(node_id)

    def _any_broker(self) -> tuple[str, int]:
        node = self.image.node(any_live_broker(self.image))
        endpoint = node.endpoint("") if node is not None else None
        if endpoint is None:
            raise Disconnected("no broker is there")
        return endpoint.host, endpoint.port

    def new_member_id(self, prefix: str) -> str:
        """An id that nobody can guess, with a name before it that people recognize."""
        bits = f"{self.world.random.getrandbits(128):032x}"
        return f"{prefix[:PREFIX_MAX]}-{bits[:8]}-{bits[8:12]}-{bits[12:16]}-{bits[16:20]}-{bits[20:]}"
