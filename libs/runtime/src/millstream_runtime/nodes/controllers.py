"""The way to the active controller, whichever node that is: found by trying and by asking around, again while the deadline allows."""

import logging
from asyncio import TaskGroup, sleep
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias, TypeVar, cast

from millstream_cluster.ids import METADATA_TOPIC, NO_NODE, NodeId
from millstream_runtime.nodes.answers import decoded_answer
from millstream_runtime.nodes.client import ClientError, ForwardingRefused, Nodes
from millstream_runtime.nodes.credentials import PLAIN, Credentials
from millstream_runtime.serving.context import RawReply, RequestContext
from millstream_runtime.serving.envelope import sealed
from millstream_runtime.serving.peer import ClientPeer
from millstream_runtime.world import World
from millstream_wire.codec import encode
from millstream_wire.errors import ErrorCode
from millstream_wire.header import RequestHeader, encode_request_header
from millstream_wire.messages import MetadataRequest, MetadataResponse
from millstream_wire.messages.metadata import MetadataRequestTopic
from millstream_wire.schema import Request, Response

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R", bound=Response)
Address: TypeAlias = tuple[str, int]

ATTEMPT_TIMEOUT_MS = 5_000
"""A controller that does not answer for this long is passed over for the next."""
BACKOFF_FIRST_MS = 5
"""In one process a controller is active a few milliseconds after its first follower asks."""
BACKOFF_MAX_MS = 1_000
LOOK_MS = 1_000
"""How long the controllers get, all at once, to say who is active."""
NO_EPOCH = -1
WHO_IS_ACTIVE = [MetadataRequestTopic(name=METADATA_TOPIC)]


class ControllerUnavailable(ClientError):
    """No controller said it was the active one before the deadline."""


class KnownControllers:
    """What a node knows of its controllers: shared by all of its links, so that what one learns sends the others there too.

    Invariant: `epoch` never falls. Whom it was heard of may be gone; nobody of a lower epoch is preferred to who has it.
    """

    def __init__(self, bootstrap: Sequence[Address]) -> None:
        assert bootstrap, "controller.bootstrap.servers is empty"
        self.bootstrap = tuple(bootstrap)
        self.epoch = NO_EPOCH
        """The highest controller epoch that anybody told this node of."""
        self._address: Address | None = None
        """Who is asked: the one that answered last or was named last as active; None when it turned out not to be."""
        self._turn = 0

    @property
    def address(self) -> Address:
        """Whom to ask next: who is known to be active, else the configured ones in turn."""
        return self._address or self.bootstrap[self._turn % len(self.bootstrap)]

    def saw(self, epoch: int, address: Address | None = None) -> None:
        """A controller of this epoch exists; with an address it is asked from now on if no higher one is known."""
        if epoch < self.epoch:
            return
        if address is not None and (epoch > self.epoch or self._address is None):
            self._address = address
        self.epoch = epoch

    def turn_to(self, address: Address) -> None:
        """Ask this one from now on: of all that could be reached it knows the highest epoch."""
        self._address = address

    def turn_from(self, address: Address) -> None:
        """This one is not the active controller, or does not answer."""
        if self.address == address:
            self._address = None
            self._turn += 1


class ControllerLink:
    """Requests to the active controller. One per process role; share it between registration, follower and handlers.

    A controller that refuses, breaks off or does not answer in time makes the link look around among all that it knows: it
    goes to the one that was elected in the highest epoch that any of them can name.
    """

    def __init__(
        self,
        world: World,
        bootstrap: Sequence[Address],
        *,
        client_id: str,
        node_id: NodeId = NO_NODE,
        known: KnownControllers | None = None,
        credentials: Credentials = PLAIN,
    ) -> None:
        self.known = KnownControllers(bootstrap) if known is None else known
        self._world = world
        self._client_id = client_id
        self._node_id = node_id
        self._credentials = credentials
        self._nodes = Nodes(world, client_id=client_id, node_id=node_id, credentials=credentials)

    async def request(self, message: Any, *, timeout_ms: int, attempt_timeout_ms: int = ATTEMPT_TIMEOUT_MS) -> Any:
        """Send to the active controller; retried on broken connections and NOT_CONTROLLER until the deadline.

        Raises ControllerUnavailable. A retried command may have been executed the first time.
        """

        async def attempt(host: str, port: int, left_ms: int) -> Any:
            return await self._nodes.request(host, port, message, timeout_ms=min(left_ms, attempt_timeout_ms))

        return await self._until_active(attempt, says_not_controller, timeout_ms)

    async def forward(self, context: RequestContext, *, timeout_ms: int) -> RawReply:
        """A client's whole request, unchanged and in its name; the answer, unchanged: return it from the handler.

        Raises ControllerUnavailable, or ForwardingRefused. A controller of release 0.1.0 gets the request without a name.
        """
        return RawReply([await self._forward(bytes(context.frame), context, timeout_ms=timeout_ms)])

    async def forward_part(self, part: Request[R], context: RequestContext, *, timeout_ms: int) -> R:
        """As `forward`, of what is left of the client's request."""
        version = context.version
        header = RequestHeader(context.api_key, version, context.correlation_id, context.client_id)
        frame = encode_request_header(header) + encode(part, version)
        answer = await self._forward(frame, context, timeout_ms=timeout_ms)
        read = decoded_answer(context.api_key, version, answer)
        if read is None:
            raise ClientError(f"{context.api_key.name}: an answer that makes no sense")
        return cast(R, read)

    async def _forward(self, frame: bytes, context: RequestContext, *, timeout_ms: int) -> bytes:
        peer = context.peer
        envelope = None
        if isinstance(peer, ClientPeer):
            connection = context.connection
            envelope = sealed(
                frame,
                peer,
                context.host,
                by_token=connection.by_token,
                must_be_authorized=connection.authorizer is not None,
            )

        async def attempt(host: str, port: int, left_ms: int) -> bytes:
            return await self._nodes.forward(host, port, frame, timeout_ms=left_ms, envelope=envelope)

        answered: Any = None

        def refused(answer: bytes) -> bool:
            nonlocal answered
            answered = decoded_answer(context.api_key, context.version, answer)
            return says_not_controller(answered)

        answer = await self._until_active(attempt, refused, timeout_ms)
        throttle_ms = getattr(answered, "throttle_time_ms", 0)
        if throttle_ms:
            context.connection.mute(throttle_ms)  # the controller says how long, and we have the connection
        return answer

    def another(self) -> "ControllerLink":
        """A link with connections of its own, for who waits long or must not wait behind others' answers."""
        return ControllerLink(
            self._world,
            self.known.bootstrap,
            client_id=self._client_id,
            node_id=self._node_id,
            known=self.known,
            credentials=self._credentials,
        )

    async def close(self) -> None:
        await self._nodes.close()

    async def _until_active(
        self,
        attempt: Callable[[str, int, int], Awaitable[T]],
        refused: Callable[[T], bool],
        timeout_ms: int,
    ) -> T:
        deadline_ms = self._world.monotonic_ms() + timeout_ms
        backoff_ms, tried, last = BACKOFF_FIRST_MS, 0, "not asked"
        while (left_ms := deadline_ms - self._world.monotonic_ms()) > 0:
            asked = self.known.address
            host, port = asked
            try:
                answer = await attempt(host, port, left_ms)
                if not refused(answer):
                    return answer
                last = f"{host}:{port} is not the active controller"
            except ForwardingRefused:
                raise
            except ClientError as error:
                last = str(error)
            self.known.turn_from(asked)
            tried += 1
            left_ms = deadline_ms - self._world.monotonic_ms()
            if left_ms > 0 and await self._look_around(min(left_ms, LOOK_MS)) and self.known.address != asked:
                continue
            if tried % len(self.known.bootstrap) == 0:
                left_ms = deadline_ms - self._world.monotonic_ms()
                await sleep(max(0, min(backoff_ms * self._world.random.uniform(0.5, 1.0), left_ms)) / 1000)
                backoff_ms = min(backoff_ms * 2, BACKOFF_MAX_MS)
        raise ControllerUnavailable(f"no active controller in {timeout_ms} ms: {last}")

    async def _look_around(self, timeout_ms: int) -> bool:
        """Ask all controllers at once who is active, and turn to the highest epoch that was named; False: nobody named one."""
        named: list[tuple[int, Address]] = []

        async def ask(address: Address) -> None:
            try:
                answer = await self._nodes.request(
                    *address, MetadataRequest(topics=WHO_IS_ACTIVE), timeout_ms=timeout_ms
                )
            except ClientError:
                return  # the others may know
            if answer.brokers:
                named.append((_epoch_in(answer), (answer.brokers[0].host, answer.brokers[0].port)))

        async with TaskGroup() as asking:
            for address in self.known.bootstrap:
                asking.create_task(ask(address))
        if not named:
            return False
        epoch, address = max(named)
        self.known.saw(epoch)
        self.known.turn_to(address)
        return True


def _epoch_in(answer: MetadataResponse) -> int:
    """The epoch of the controller that a controller's answer names."""
    return max((part.leader_epoch for topic in answer.topics for part in topic.partitions), default=NO_EPOCH)


def says_not_controller(response: Any) -> bool:
    """NOT_CONTROLLER anywhere in a response: at the top, or per topic or partition."""
    if isinstance(response, list):
        return any(map(says_not_controller, response))
    if not is_dataclass(response):
        return False
    if getattr(response, "error_code", None) == ErrorCode.NOT_CONTROLLER:
        return True
    return any(says_not_controller(getattr(response, field.name)) for field in fields(response))
