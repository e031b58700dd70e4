"""The console's service: its pages by address, and its life on a socket until it is told to stop."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web

from millstream_client.background import Background
from millstream_console.access import Accesses
from millstream_console.files import Files
from millstream_console.pages.brokers import describe_broker, elect_leaders, list_brokers
from millstream_console.pages.groups import (
    delete_one_group,
    describe_one_group,
    lag_history,
    list_all_groups,
    readers_of_topic,
    reset_group,
    undo_reset,
)
from millstream_console.pages.messages import (
    FOLLOWERS,
    FOLLOWERS_MAX,
    SEARCHES,
    SEARCHES_MAX,
    follow_messages,
    save_body,
    search_messages,
    send_message,
    show_message,
)
from millstream_console.pages.overview import overview
from millstream_console.pages.rights import (
    change_password,
    change_quota,
    create_one_acl,
    delete_one_acl,
    delete_one_user,
    list_all_acls,
    list_all_quotas,
    list_all_users,
)
from millstream_console.pages.session import describe_session, log_in, log_out
from millstream_console.pages.stories import TELLING, TELLING_MAX, tell
from millstream_console.pages.topics import describe_topic, list_partitions, list_topics
from millstream_console.pages.transactions import (
    abort_one_transaction,
    describe_one_transaction,
    list_all_transactions,
)
from millstream_console.protection import ACCESSES, SETTINGS, Denied, middlewares
from millstream_console.settings import ConsoleSettings

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

BODY_MAX_BYTES = 2 * 1024 * 1024
STOP_S = 1.0
"""How long answers may take that are under way when the service stops."""


@dataclass(frozen=True, slots=True)
class Page:
    answer: Answer
    changes: bool = False
    """Something in the cluster: refused by a console that only reads."""


READ: Mapping[str, Page] = {
    "session": Page(describe_session),
    "overview": Page(overview),
    "topics": Page(list_topics),
    "topic": Page(describe_topic),
    "partitions": Page(list_partitions),
    "readers": Page(readers_of_topic),
    "groups": Page(list_all_groups),
    "group": Page(describe_one_group),
    "group/history": Page(lag_history),
    "brokers": Page(list_brokers),
    "broker": Page(describe_broker),
    "transactions": Page(list_all_transactions),
    "transaction": Page(describe_one_transaction),
    "users": Page(list_all_users),
    "acls": Page(list_all_acls),
    "quotas": Page(list_all_quotas),
    "story": Page(tell),
    "messages/follow": Page(follow_messages),
    "message": Page(show_message),
    "message/body": Page(save_body),
}
SENT: Mapping[str, Page] = {
    "login": Page(log_in),
    "logout": Page(log_out),
    "messages": Page(search_messages),
    "messages/send": Page(send_message, changes=True),
    "group/reset": Page(reset_group, changes=True),
    "group/undo": Page(undo_reset, changes=True),
    "group/delete": Page(delete_one_group, changes=True),
    "brokers/elect": Page(elect_leaders, changes=True),
    "transaction/abort": Page(abort_one_transaction, changes=True),
    "user/password": Page(change_password, changes=True),
    "user/delete": Page(delete_one_user, changes=True),
    "acl/create": Page(create_one_acl, changes=True),
    "acl/delete": Page(delete_one_acl, changes=True),
    "quota": Page(change_quota, changes=True),
}


def application(settings: ConsoleSettings) -> web.Application:
    app = web.Application(middlewares=middlewares(), client_max_size=BODY_MAX_BYTES)
    app[SETTINGS] = settings
    app[FOLLOWERS] = asyncio.Semaphore(FOLLOWERS_MAX)
    app[SEARCHES] = asyncio.Semaphore(SEARCHES_MAX)
    app[TELLING] = asyncio.Semaphore(TELLING_MAX)
    app.cleanup_ctx.append(_accesses)
    for pages, add in ((READ, app.router.add_get), (SENT, app.router.add_post)):
        for name, page in pages.items():
            add(f"/api/{name}", _read_only(page.answer) if page.changes and settings.read_only else page.answer)
    files = Files()

    async def file(request: web.Request) -> web.Response:
        return files.answer(request)

    app.router.add_get("/{path:.*}", file)
    return app


async def _accesses(app: web.Application) -> AsyncIterator[None]:
    async with Background() as background:
        app[ACCESSES] = Accesses(app[SETTINGS], background)
        yield
        await app[ACCESSES].close()


def _read_only(answer: Answer) -> Answer:
    async def refuse(request: web.Request) -> web.StreamResponse:
        raise Denied(HTTPStatus.FORBIDDEN, "READ_ONLY", "this console only reads")

    return refuse


async def serve(settings: ConsoleSettings, listening: socket.socket, stop: asyncio.Event) -> None:
    """Until `stop` is set."""
    runner = web.AppRunner(application(settings), access_log=None, shutdown_timeout=STOP_S)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        await stop.wait()
    finally:
        await runner.cleanup()
