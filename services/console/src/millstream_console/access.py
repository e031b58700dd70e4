"""In whose name the cluster is asked: that of the service, or of each person who has logged in. Bounded in number and in time."""

import asyncio
import hashlib
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass

from millstream_client import Cluster, InvalidData, KafkaError, Refused, parse_bootstrap
from millstream_client.background import Background
from millstream_client.credentials import credentials_by_password, credentials_of
from millstream_client.errors import NotLetIn
from millstream_console.groups.resets import Resets
from millstream_console.groups.watch import LagWatch
from millstream_console.settings import ConsoleSettings
from millstream_console.view import View
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.credentials import Credentials
from millstream_runtime.world import RealWorld
from millstream_wire.errors import ErrorCode

CLIENT_ID = "millstream-console"
SESSIONS_MAX = 100
SESSION_MS = 8 * 3_600_000
IDLE_MS = 30 * 60_000
SESSIONS_OF_USER_MAX = 10
SWEEP_S = 60.0
LOGINS_AT_ONCE = 4
LOGINS_WAITING_MAX = 50
CREDENTIAL_CHARACTERS = 1_000
REFUSED_PAUSE_S = 1.0
"""Who guesses passwords waits."""
_ID_BYTES = 32


class Access:
    """One principal's way to the cluster, and what is remembered of what it saw."""

    def __init__(self, settings: ConsoleSettings, credentials: Credentials, user: str | None) -> None:
        world = RealWorld(SocketNetwork())
        world.own_addresses.update(settings.reached_at)
        self.user = user
        self.cluster = Cluster(world, parse_bootstrap(settings.bootstrap), client_id=CLIENT_ID, credentials=credentials)
        self.view = View(self.cluster)
        self.watch = LagWatch(self.view)
        self.resets = Resets(self.cluster)

    async def close(self) -> None:
        self.watch.close()
        await self.cluster.close()


@dataclass(slots=True)
class _Session:
    access: Access
    ends_ms: int
    used_ms: int


class Accesses:
    """All that there are: a single one where nobody logs in, one for each session otherwise.

    Invariant: there are at most SESSIONS_MAX sessions, and none is older than SESSION_MS or unused for IDLE_MS when it is handed out.
    """

    def __init__(self, settings: ConsoleSettings, background: Background) -> None:
        """`background`: where groups are watched, for as long as there is somebody to watch them for."""
        self._settings = settings
        self._background = background
        self._secret = secrets.token_bytes(_ID_BYTES)
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._logging_in = asyncio.Semaphore(LOGINS_AT_ONCE)
        self._logins = 0
        self._shared = None
        if not settings.asks_for_login:
            self._shared = Access(settings, credentials_of(settings.properties), None)
            background.start(self._shared.watch.run())
        else:
            background.start(self._sweep())

    @staticmethod
    def new_id() -> str:
        return secrets.token_urlsafe(_ID_BYTES)

    def token_of(self, session_id: str) -> str:
        """What a page has to show beside its cookie to change anything: only who can read our answers knows it."""
        return hmac.new(self._secret, session_id.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def is_token_of(self, token: str, session_id: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token_of(session_id).encode())

    async def of(self, session_id: str, now_ms: int) -> Access | None:
        """None for who has to log in (again)."""
        if self._shared is not None:
            return self._shared
        await self._end_old(now_ms)
        session = self._sessions.get(session_id)
        if session is None:
            return None
        session.used_ms = now_ms
        self._sessions.move_to_end(session_id)
        return session.access

    async def _end_old(self, now_ms: int) -> None:
        for each in [key for key, one in self._sessions.items() if _is_over(one, now_ms)]:
            await self.end(each)

    async def _sweep(self) -> None:
        """Also when nobody asks any more: a session that is over asks the cluster nothing, and its password is gone."""
        while True:
            await asyncio.sleep(SWEEP_S)
            await self._end_old(int(asyncio.get_running_loop().time() * 1000))

    async def log_in(self, mechanism: str, user: str, password: str, now_ms: int) -> tuple[str, Access]:
        """A new session's id; raises NotLetIn if the cluster does not know these credentials."""
        if mechanism not in self._settings.mechanisms:
            raise InvalidData(f"mechanism must be one of {', '.join(self._settings.mechanisms)}")
        if max(len(user), len(password)) > CREDENTIAL_CHARACTERS:
            raise InvalidData(f"user and password must have at most {CREDENTIAL_CHARACTERS} characters")
        if self._logins >= LOGINS_WAITING_MAX:
            raise Refused(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "too many people log in now: try again in a moment")
        self._logins += 1
        try:
            access = await self._let_in(mechanism, user, password)
        finally:
            self._logins -= 1
        own = [key for key, one in self._sessions.items() if one.access.user == user]
        for each in own[: max(0, len(own) - SESSIONS_OF_USER_MAX + 1)]:
            await self.end(each)
        session_id = self.new_id()
        self._background.start(access.watch.run())
        self._sessions[session_id] = _Session(access, now_ms + SESSION_MS, now_ms)
        while len(self._sessions) > SESSIONS_MAX:
            await self.end(next(iter(self._sessions)))
        return session_id, access

    async def _let_in(self, mechanism: str, user: str, password: str) -> Access:
        access = Access(
            self._settings, credentials_by_password(self._settings.properties, mechanism, user, password), user
        )
        async with self._logging_in:
            try:
                await access.cluster.describe([])
            except KafkaError as error:
                await access.close()
                if isinstance(error, NotLetIn):
                    await asyncio.sleep(REFUSED_PAUSE_S)
                raise
        return access

    async def end(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.access.close()

    async def close(self) -> None:
        for each in list(self._sessions):
            await self.end(each)
        if self._shared is not None:
            await self._shared.close()


def _is_over(session: _Session, now_ms: int) -> bool:
    return now_ms >= session.ends_ms or now_ms - session.used_ms >= IDLE_MS
