"""Logins at one SASL listener: its mechanisms, the users and keys that are in files, and a gate for each connection."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from millstream_runtime.properties import PropertyError
from millstream_runtime.service import ServiceFailed
from millstream_runtime.serving.accounts import Accounts
from millstream_runtime.serving.audit.audit import Audit
from millstream_runtime.serving.audit.event import AuditEvent, AuditKind
from millstream_runtime.serving.context import Connection
from millstream_runtime.serving.login_gate import LoginGate
from millstream_runtime.world import World
from millstream_security.sasl.authentication import Fail
from millstream_security.sasl.exchange import ServerExchange
from millstream_security.sasl.oauthbearer import OAUTHBEARER, OAuthBearerServer
from millstream_security.sasl.plain import PLAIN, PlainServer
from millstream_security.sasl.scram_mechanism import SCRAM_NAMES
from millstream_security.sasl.scram_server import ScramAccounts, ScramServer
from millstream_security.sasl.settings import SaslSettings

if TYPE_CHECKING:
    from millstream_runtime.serving.bearer_keys import BearerKeys
    from millstream_runtime.serving.connection import ServedConnection

logger = logging.getLogger(__name__)

LOOK_INTERVAL_S = 1.0
"""How often a file of users is looked at."""
NONCE_BITS = 130
UNDER_WAY_MAX = 1_000
"""Connections of one listener on which nobody has logged in yet."""


class Logins:
    """`begin` before the first connection; `run` for as long as the listener is open.

    Invariant: at most UNDER_WAY_MAX are under way, in the order in which they last said something; the most silent one gives way.
    """

    def __init__(
        self,
        listener: str,
        settings: SaslSettings,
        accounts: Accounts,
        world: World,
        audit: Audit,
        *,
        server_name: str,
    ) -> None:
        self.listener = listener
        self.rules = settings.rules
        self.accounts = accounts
        self.world = world
        self.counters = world.metrics.server(server_name)
        self._audit = audit
        self._users = settings.users
        self._users_file = _UsersFile(Path(settings.users_file)) if settings.users_file is not None else None
        self._keys = _bearer_keys(settings, world)
        self._under_way: dict[LoginGate, None] = {}
        self._scram = ScramAccounts(accounts.credential_of, accounts.token_of, accounts.secret)

    async def begin(self) -> None:
        """Read what is in files; raises ServiceFailed."""
        if self._users_file is not None:
            try:
                await self.world.run_blocking(self._users_file.read)
            except PropertyError as error:
                raise ServiceFailed(f"plain.users.file of listener {self.listener}: {error}") from error
        if self._keys is not None:
            await self._keys.begin()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            if self._users_file is not None:
                tasks.create_task(self._follow_users(self._users_file))
            if self._keys is not None:
                tasks.create_task(self._keys.run())

    def guard(self, served: "ServedConnection", connection: Connection, on_known: Callable[[], None]) -> None:
        """Let nothing of this connection through before a login; `on_known` is told of each."""
        if len(self._under_way) >= UNDER_WAY_MAX:
            next(iter(self._under_way)).give_way()
        gate = LoginGate(self, served, connection, on_known)
        self._under_way[gate] = None
        served.guard(gate, self.rules.receive_max_bytes)

    def goes_on(self, gate: LoginGate) -> None:
        """Somebody who has not logged in yet has said something."""
        if gate in self._under_way:
            del self._under_way[gate]
            self._under_way[gate] = None

    def ends(self, gate: LoginGate) -> None:
        """Somebody is logged in, or gone."""
        self._under_way.pop(gate, None)

    def exchange_of(self, mechanism: str) -> ServerExchange:
        if mechanism == PLAIN:
            return PlainServer(self._password_of)
        if mechanism == OAUTHBEARER:
            assert self._keys is not None, "the mechanism is enabled"
            return OAuthBearerServer(self._keys.check)
        return ScramServer(SCRAM_NAMES[mechanism], self._scram, f"{self.world.random.getrandbits(NONCE_BITS):x}")

    def note_failure(self, connection: Connection, failure: Fail) -> None:
        """One line for whoever looks for who tries passwords; never with what was tried."""
        self.counters.failed_logins += 1
        named = (("user", failure.user),) if failure.user is not None else ()
        self._audit.note(
            AuditEvent.of(
                AuditKind.AUTHENTICATION,
                "login failed",
                str(connection.peer),
                connection.host,
                ("listener", self.listener),
                ("mechanism", failure.mechanism),
                *named,
                ("reason", failure.reason.replace(" ", "_")),
            )
        )

    def _password_of(self, user: str) -> str | None:
        password = self._users.get(user)
        if password is None and self._users_file is not None:
            return self._users_file.users.get(user)
        return password

    async def _follow_users(self, file: "_UsersFile") -> None:
        broken = False
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            try:
                changed = await self.world.run_blocking(file.read)
            except PropertyError as error:
                if not broken:
                    logger.error("users not read listener=%s reason=%s", self.listener, error)
                broken = True
                continue
            if changed or broken:
                logger.info("users read listener=%s count=%d", self.listener, len(file.users))
            broken = False


def _bearer_keys(settings: SaslSettings, world: World) -> "BearerKeys | None":
    if settings.bearer is None:
        return None
    from millstream_runtime.serving.bearer_keys import BearerKeys  # brings a library for signatures along

    return BearerKeys(settings.bearer, world)


class _UsersFile:
    """`users` are those of the last time that the file could be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self.users: Mapping[str, str] = {}

    def read(self) -> bool:
        """Whether it changed; raises PropertyError."""
        try:
            found = self._path.stat()
        except OSError as error:
            raise PropertyError(f"cannot read {self._path}: {error.strerror}") from None
        seen = found.st_mtime_ns, found.st_size, found.st_ino
        if seen == self._seen:
            return False
        self.users, self._seen = _users_in(self._path), seen
        return True


def _users_in(path: Path) -> dict[str, str]:
    users: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PropertyError(f"cannot read {path}: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, separator, password = line.partition("=")
        if not separator or not name.strip() or not password:
            raise PropertyError(f"{path}: line {number} is not name=password")
        users[name.strip()] = password
    return users
