"""The messages of an explored system, as connections carry them: in order, until they break.

A request whose connection has broken may still arrive: it was in the other end's buffer. So the sender, who asks again on a new
connection, may be heard twice, and the old request may come after the new one. An answer to a broken connection is lost.
That is all that can happen to a message over TCP; it is never changed and, within a connection, never overtaken.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Self, TypeVar

M = TypeVar("M", bound=Hashable)


@dataclass(frozen=True, slots=True, order=True)
class Connection:
    client: str
    server: str
    number: int


@dataclass(frozen=True, slots=True)
class Arrives:
    """The oldest request on a connection gets to the server."""

    connection: Connection


@dataclass(frozen=True, slots=True)
class Answered:
    """The oldest answer on a connection gets to the client."""

    connection: Connection


@dataclass(frozen=True, slots=True)
class Breaks:
    """The client loses the connection, and with it the answers; the system has to let the client ask again."""

    connection: Connection


@dataclass(frozen=True, slots=True)
class Lost:
    """What was under way on a connection that broke does not arrive."""

    connection: Connection


Carried = Arrives | Answered | Breaks | Lost


@dataclass(slots=True)
class Connections(Generic[M]):
    """Invariant: only the newest connection of a pair has answers; a pair without requests or answers takes no place here."""

    breaks_left: int
    """How many more connections may break: without a bound there is always something left to explore."""
    _newest: dict[tuple[str, str], int] = field(default_factory=dict)
    _requests: dict[Connection, tuple[M, ...]] = field(default_factory=dict)
    _answers: dict[Connection, tuple[M, ...]] = field(default_factory=dict)

    def events(self) -> Iterator[Carried]:
        for connection in sorted(self._requests):
            yield Arrives(connection)
            if not self._is_open(connection):
                yield Lost(connection)
        for connection in sorted(self._answers):
            yield Answered(connection)
        if self.breaks_left:
            for connection in sorted(self._requests.keys() | self._answers.keys()):
                if self._is_open(connection):
                    yield Breaks(connection)

    def ask(self, client: str, server: str, message: M) -> None:
        connection = Connection(client, server, self._newest.setdefault((client, server), 0))
        self._requests[connection] = (*self._requests.get(connection, ()), message)

    def answer(self, connection: Connection, message: M) -> None:
        if self._is_open(connection):
            self._answers[connection] = (*self._answers.get(connection, ()), message)

    def arrived(self, event: Arrives) -> M:
        """Take the request that arrives."""
        return _pop(self._requests, event.connection)

    def answered(self, event: Answered) -> M:
        """Take the answer that arrives."""
        return _pop(self._answers, event.connection)

    def breaks(self, event: Breaks) -> None:
        assert self.breaks_left > 0
        self.breaks_left -= 1
        self._end(event.connection)

    def loses(self, event: Lost) -> None:
        del self._requests[event.connection]

    def crash(self, name: str) -> None:
        """A process dies: what was sent to it is lost, what it has sent may still arrive."""
        for connection in [*self._requests]:
            if connection.server == name:
                del self._requests[connection]
        for client, server in [*self._newest]:
            if name in (client, server):
                self._end(Connection(client, server, self._newest[client, server]))

    def fingerprint(self) -> Hashable:
        return (
            self.breaks_left,
            tuple(sorted(self._newest.items())),
            tuple(sorted(self._requests.items(), key=_connection)),
            tuple(sorted(self._answers.items(), key=_connection)),
        )

    def copy(self) -> Self:
        return type(self)(self.breaks_left, dict(self._newest), dict(self._requests), dict(self._answers))

    def _end(self, connection: Connection) -> None:
        self._answers.pop(connection, None)
        self._newest[connection.client, connection.server] = connection.number + 1

    def _is_open(self, connection: Connection) -> bool:
        return self._newest[connection.client, connection.server] == connection.number


def _connection(item: tuple[Connection, object]) -> Connection:
    return item[0]


def _pop(messages: dict[Connection, tuple[M, ...]], connection: Connection) -> M:
    first, *others = messages[connection]
    if others:
        messages[connection] = tuple(others)
    else:
        del messages[connection]
    return first
