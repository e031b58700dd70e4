"""What a handler is told about a request beside its content, and what it may answer with."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mypy_extensions import mypyc_attr

from millstream_cluster.acls import CLUSTER_NAME, AclOperation, AclResource, May
from millstream_cluster.principal import Principal
from millstream_runtime.network.frames import Frame, Part
from millstream_runtime.serving.audit.audit import Audit
from millstream_runtime.serving.audit.event import AuditEvent, AuditKind
from millstream_runtime.serving.peer import ANONYMOUS_CLIENT, ListenerKind, NodePeer, Peer
from millstream_security.authorization.authorizer import Authorizer, Rights
from millstream_wire.api import ApiKey


def ignore_mute(duration_ms: int) -> None:
    """There is nobody to be read any more, or never was."""


@dataclass(eq=False, slots=True)
class Connection:
    """One connection, as handlers see it; `state` is theirs and dies with it."""

    number: int
    """Counts up per server, never reused."""
    address: str
    """host:port of the other side."""
    listener_name: str
    kind: ListenerKind = ListenerKind.NODES
    peer: Peer = ANONYMOUS_CLIENT
    """Who is at the other end; the connection's first ApiVersions is the last that can say so."""
    is_guarded: bool = False
    """Whether the listener asks for credentials: then no word of who one is counts without them."""
    has_met: bool = False
    """Whether that ApiVersions was there."""
    by_token: bool = False
    """Whether the peer logged in by a delegation token, which may not ask for tokens."""
    introduction: NodePeer | None = None
    """Which node the peer says it is, where that is judged by its credentials."""
    software: tuple[str, str] = ("unknown", "unknown")
    """Name and version of the client's program, as its ApiVersions told."""
    state: dict[str, Any] = field(default_factory=dict)
    at_close: list[Callable[[], None]] = field(default_factory=list)
    """Called once the connection is gone, from either side: for what handlers keep elsewhere on its account."""
    mute: Callable[[int], None] = ignore_mute
    """Read no more requests from this client for so many milliseconds; answers to earlier ones still go out."""
    authorizer: Authorizer | None = None
    """Whom to ask what the peer may do; None where everybody may do everything."""
    _rights: Rights | None = None
    _rights_of: Principal | None = None
    """Whose these rights are: the peer changes when it logs in."""
    audit: Audit | None = None
    """Where it is said what was refused, and what was changed."""

    @property
    def host(self) -> str:
        return self.address.rpartition(":")[0]

    def rights(self) -> Rights | None:
        """What the peer may do, as it is known now; None: everything."""
        peer = self.peer
        if self.authorizer is None or isinstance(peer, NodePeer):
            return None
        if self._rights is None or self._rights_of is not peer.principal:
            self._rights = self.authorizer.rights(peer.principal, self.host)
            self._rights_of = peer.principal
        return self._rights


@mypyc_attr(free_list_len=1)
class RequestContext:
    """Not a dataclass: one is made for every request, and compiled this costs a tenth."""

    __slots__ = ("api_key", "client_id", "connection", "correlation_id", "frame", "received_at_ms", "version")

    def __init__(
        self,
        api_key: ApiKey,
        version: int,
        correlation_id: int,
        client_id: str | None,
        frame: Frame,
        connection: Connection,
        received_at_ms: int,
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.frame = frame
        """The whole request, header included (for forwarding); for a plain handler valid until it returns."""
        self.connection = connection
        self.received_at_ms = received_at_ms
        """As world.monotonic_ms(), at arrival."""

    @property
    def peer(self) -> Peer:
        """In whose name the request is handled; the one thing to ask before doing what not everybody may."""
        return self.connection.peer

    @property
    def may_what(self) -> May | None:
        """The question of what the peer may do, for who asks it often; None where the answer is always yes."""
        if self.connection.authorizer is None:
            return None
        rights = self.connection.rights()
        return None if rights is None else rights.may

    def may(self, operation: AclOperation, resource: AclResource, name: str = CLUSTER_NAME) -> bool:
        """Whether the peer may do this; always, if it is a node."""
        rights = self.connection.rights()
        return rights is None or rights.may(operation, resource, name)

    def denied(self, operation: AclOperation, resource: AclResource, name: str = CLUSTER_NAME) -> None:
        """Say that the peer asked for this and was refused."""
        rights, audit = self.connection.rights(), self.connection.audit
        if rights is not None and audit is not None:
            audit.note(
                AuditEvent.of(
                    AuditKind.AUTHORIZATION,
                    "authorization denied",
                    str(rights.principal),
                    rights.host,
                    ("api", self.api_key.name),
                    ("operation", operation.name),
                    ("resource", f"{resource.name}:{name}"),
                )
            )

    def may_any(self, operation: AclOperation, resource: AclResource) -> bool:
        """Whether there may be a resource of this type on which the peer may do this."""
        rights = self.connection.rights()
        return rights is None or rights.may_any(operation, resource)

    @property
    def host(self) -> str:
        return self.connection.host

    @property
    def listener_name(self) -> str:
        return self.connection.listener_name


class RawReply:
    """An answer that is already encoded: everything that follows the correlation id (as `ControllerLink.forward` returns)."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts


@mypyc_attr(allow_interpreted_subclasses=True)
class Completion(ABC):
    """Where an answer goes that was not there at first."""

    @abstractmethod
    def complete(self, reply: Any) -> None: ...

    @abstractmethod
    def fail(self, error: Exception) -> None: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class Deferred(ABC):
    """A reply that is to come, where a future would cost too much: its handler's own object, which answers itself.

    Invariant: it is answered, failed or cancelled once; what comes after that changes nothing.
    """

    def __init__(self) -> None:
        self._completion: Completion | None = None

    def bind(self, completion: Completion) -> None:
        """Called once, in the tick in which the handler returned this: nothing is answered before."""
        self._completion = completion

    @property
    def is_over(self) -> bool:
        return self._completion is None

    def answer(self, reply: Any) -> None:
        """With what a handler may return, but for what is to come itself."""
        completion, self._completion = self._completion, None
        if completion is not None:
            completion.complete(reply)

    def fail(self, error: Exception) -> None:
        """End the client's connection, and nobody else's."""
        completion, self._completion = self._completion, None
        if completion is not None:
            completion.fail(error)

    def cancel(self) -> None:
        """The client is gone."""
        if self._completion is not None:
            self._completion = None
            self.on_cancelled()

    @abstractmethod
    def on_cancelled(self) -> None:
        """Let go of what the answer would have come from."""


class CloseConnection(Exception):
    """Raised by a handler whose client cannot be told in any other way; the message goes to the log."""
