"""Carries out, for one connection, what `sasl.authentication` decides: answers, waits, closes, and says who it is."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, assert_never

from millstream_runtime.serving.context import Connection
from millstream_runtime.serving.gate import Gate
from millstream_runtime.serving.peer import ClientPeer
from millstream_security.sasl.authentication import (
    Answer,
    AnswerAndClose,
    Authentication,
    Close,
    Fail,
    LoggedIn,
    PassOn,
    Stage,
    Verdict,
)

if TYPE_CHECKING:
    from millstream_runtime.serving.connection import ServedConnection
    from millstream_runtime.serving.logins import Logins

logger = logging.getLogger(__name__)

TOO_MANY = Fail(None, "too many others have not logged in either", "none")


class LoginGate(Gate):
    """Invariant: it is open exactly while somebody is logged in whose login is not over and who does not log in again."""

    def __init__(
        self, logins: "Logins", served: "ServedConnection", connection: Connection, on_known: Callable[[], None]
    ) -> None:
        super().__init__()
        self._logins = logins
        self._served = served
        self._connection = connection
        self._on_known = on_known
        self._authentication = Authentication(logins.rules, logins.exchange_of)
        self._loop = asyncio.get_running_loop()
        self._timers: list[asyncio.TimerHandle] = []
        self._end: asyncio.TimerHandle | None = None
        """When the login is over."""
        self._patience: asyncio.TimerHandle | None = self._wait_for_login()
        self._waiting: asyncio.Task[None] | None = None

    def give_way(self) -> None:
        """Close: too many others are under way."""
        self._logins.ends(self)
        self._logins.note_failure(self._connection, TOO_MANY)
        self._served.close(TOO_MANY.reason)

    def takes(self, frame: bytes) -> bool:
        self._logins.goes_on(self)
        if not self._logins.accounts.known and self._authentication.stage is Stage.UNKNOWN:
            self._served.hold()
            self._waiting = self._loop.create_task(self._until_known(frame))
            return True
        verdict = self._authentication.take(frame, self._logins.world.now_ms())
        return self._carry_out(verdict)

    def on_closed(self) -> None:
        self._logins.ends(self)
        for timer in (*self._timers, self._end, self._patience):
            if timer is not None:
                timer.cancel()
        if self._waiting is not None:
            self._waiting.cancel()

    async def _until_known(self, frame: bytes) -> None:
        """A node that has no metadata yet would refuse those that it has not heard of."""
        await self._logins.accounts.until_known()
        self._waiting = None
        self._served.on_frame(frame)
        self._served.release()

    def _carry_out(self, verdict: Verdict) -> bool:
        match verdict:
            case PassOn():
                return False
            case Answer(content):
                self._served.answer(content)
                self._follow()
            case LoggedIn():
                self._log_in(verdict)
            case AnswerAndClose(content, reason):
                self._served.hold()
                self._served.answer(content)
                self._close_soon(reason)
            case Fail():
                self._fail(verdict)
            case Close(reason):
                self._served.reject(reason)
            case _:
                assert_never(verdict)
        return True

    def _follow(self) -> None:
        """What the states are now, for who looks at `is_open` only."""
        self.is_open = self._authentication.is_open
        if not self.is_open and self._patience is None:
            self._patience = self._wait_for_login()

    def _wait_for_login(self) -> asyncio.TimerHandle:
        return self._loop.call_later(self._logins.rules.timeout_ms / 1000, self._served.reject, "no login in time")

    def _log_in(self, login: LoggedIn) -> None:
        self._connection.by_token = login.accepted.by_token
        if not login.again:
            self._connection.peer = ClientPeer(login.accepted.principal)
            self._on_known()
        self._logins.counters.logins += 1
        self._logins.ends(self)
        for timer in (self._patience, self._end):
            if timer is not None:
                timer.cancel()
        self._patience = self._end = None
        if login.lifetime_ms:
            self._end = self._loop.call_later(login.lifetime_ms / 1000, self._expire)
        self.is_open = self._authentication.is_open
        self._served.answer(login.content)
        self._served.open()

    def _expire(self) -> None:
        self._authentication.expire()
        self.is_open = False

    def _fail(self, failure: Fail) -> None:
        self._served.hold()
        self._logins.note_failure(self._connection, failure)
        delay_s = self._logins.rules.failure_delay_ms / 1000
        self._timers.append(self._loop.call_later(delay_s, self._tell, failure))

    def _tell(self, failure: Fail) -> None:
        if failure.content is not None:
            self._served.answer(failure.content)
        self._close_soon("the login failed")

    def _close_soon(self, reason: str) -> None:
        """After the answer, which leaves at the end of this tick, and those before it."""
        self._timers.append(self._loop.call_later(0, self._served.close, reason))
