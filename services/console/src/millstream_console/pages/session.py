"""Who looks: a page's cookie and token, a login and its end."""

from aiohttp import web

from millstream_client import InvalidData
from millstream_console.access import SESSION_MS, Access
from millstream_console.asked import body_of
from millstream_console.protection import ACCESSES, SESSION_ID, SETTINGS, cookie_of, now_ms
from millstream_runtime import VERSION


async def describe_session(request: web.Request) -> web.Response:
    """What a page asks first: nothing of the cluster is in it."""
    accesses = request.app[ACCESSES]
    session_id = request[SESSION_ID]
    access = await accesses.of(session_id, now_ms()) if session_id or not request.app[SETTINGS].asks_for_login else None
    return _answer(request, session_id or accesses.new_id(), access)


async def log_in(request: web.Request) -> web.Response:
    """With a new cookie: one that somebody else has put into this browser is of no use to him afterwards."""
    asked = await body_of(request)
    user, password = asked.get("user"), asked.get("password")
    if not isinstance(user, str) or not isinstance(password, str) or not user:
        raise InvalidData("user and password expected")
    settings, accesses = request.app[SETTINGS], request.app[ACCESSES]
    if not settings.asks_for_login:
        raise InvalidData("nobody logs in here")
    mechanism = str(asked.get("mechanism") or settings.mechanisms[0])
    session_id, access = await accesses.log_in(mechanism, user, password, now_ms())
    await accesses.end(request[SESSION_ID])
    return _answer(request, session_id, access)


async def log_out(request: web.Request) -> web.Response:
    accesses = request.app[ACCESSES]
    await accesses.end(request[SESSION_ID])
    return _answer(request, accesses.new_id(), None)


def _answer(request: web.Request, session_id: str, access: Access | None) -> web.Response:
    settings = request.app[SETTINGS]
    document = {
        "needs_login": access is None,
        "asks_for_login": settings.asks_for_login,
        "mechanisms": list(settings.mechanisms) if settings.asks_for_login else [],
        "user": access.user if access is not None else None,
        "read_only": settings.read_only,
        "token": request.app[ACCESSES].token_of(session_id),
        "bootstrap": settings.bootstrap,
        "version": VERSION,
    }
    response = web.json_response(document, headers={"Cache-Control": "no-store"})
    response.set_cookie(
        cookie_of(request),
        session_id,
        httponly=True,
        samesite="Strict",
        secure=request.secure or request.headers.get("X-Forwarded-Proto") == "https",
        max_age=SESSION_MS // 1000,
        path="/",
    )
    return response
