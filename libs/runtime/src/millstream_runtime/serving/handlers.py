"""The rows of a service's table of handlers: which function serves which request, checked by type.

A row whose function takes another request, gives another answer or belongs to another service does not type-check. Types end
here: behind a row, the dispatch calls a function of which it knows no more than that it fits.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from millstream_runtime.network.frames import Frame
from millstream_runtime.serving.context import Deferred, RawReply, RequestContext
from millstream_wire.api import ApiKey
from millstream_wire.late_dataclass import dataclass
from millstream_wire.schema import Request, Response

App = TypeVar("App")
App_contra = TypeVar("App_contra", contravariant=True)
Asked = TypeVar("Asked", bound=Request[Any])
Asked_co = TypeVar("Asked_co", bound=Request[Any], covariant=True)
Answer = TypeVar("Answer", bound=Response)
Answer_co = TypeVar("Answer_co", bound=Response, covariant=True)

Reply: TypeAlias = Answer | RawReply | bytes | None
"""A response message; its bytes behind the correlation id; all its bytes, correlation id included; or None: no answer."""


class RequestClass(Protocol[Asked_co, Answer_co]):
    """A request's class, as the type checker sees it: what it makes, and what answers that."""

    def __call__(self) -> Asked_co: ...

    def answer_type(self) -> type[Answer_co]: ...


@dataclass(frozen=True, slots=True)
class Handler(Generic[App_contra]):
    """How a service (`App`) handles one API; made by `serve`."""

    request: type[Request[Any]]
    handle: Callable[[App_contra, Any, RequestContext], Any]
    shortcut: Callable[[App_contra, Frame, int, RequestContext], Any] | None


Handlers: TypeAlias = Mapping[ApiKey, Handler[App]]


def late(make: Callable[[], Handler[App]]) -> Handler[App]:
    """A row that is made when somebody first looks at it: with the first request of its kind."""
    return cast(Handler[App], _Late(make))


class _Late:
    """Stands in for the `Handler` that it becomes."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Handler[Any]]) -> None:
        self._make = make
        self._made: Handler[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)


def serve(
    request: RequestClass[Asked, Answer],
    handle: Callable[[App, Asked, RequestContext], Reply[Answer] | Awaitable[Reply[Answer]] | Deferred],
    *,
    shortcut: Callable[[App, Frame, int, RequestContext], Reply[Answer] | Awaitable[Reply[Answer]] | Deferred]
    | None = None,
    changes: bool = False,
) -> Handler[App]:
    """Have `handle` answer these requests, after `shortcut` has declined them.

    `handle`: a plain function is called within the tick in which the frame arrived: views into the request are valid until it
    returns; it may return a future, a coroutine or a `Deferred` for the rest. An `async def` handler gets a request that owns its bytes. The
    rest is cancelled when the connection goes away or the server closes: who completes such a future checks `done()`
    first, and work that must not stop half-way is shielded (Replicated does).

    `shortcut`: called with the whole frame and the position of the body, for APIs whose usual request would cost more to decode
    than to serve. It returns None if the request is not of the usual form: it is decoded then and `handle` called.

    `changes`: what these requests change is decided here, and the audit log says it.
    """
    assert isinstance(request, type)
    assert issubclass(request, Request)
    if changes:
        from millstream_runtime.serving.audit.recording import recorded  # what nobody needs until something is changed

        return Handler(request, recorded(request, handle), shortcut)
    return Handler(request, handle, shortcut)
