"""What stands before every page: which hosts' names are ours, who may change anything, what a browser may load, what an error looks like."""

import asyncio
import ipaddress
import logging
from http import HTTPStatus

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from millstream_client import InvalidData, KafkaError, Refused, Unreachable
from millstream_client.errors import NotLetIn
from millstream_console.access import Access, Accesses
from millstream_console.settings import ConsoleSettings
from millstream_wire.errors import ErrorCode

logger = logging.getLogger(__name__)

API = "/api/"
FOR_EVERYBODY = frozenset({"/api/session", "/api/login"})
COOKIE = "millstream-console"
TOKEN_HEADER = "X-Console-Token"
SETTINGS = web.AppKey("settings", ConsoleSettings)
ACCESSES = web.AppKey("accesses", Accesses)
SESSION_ID = web.RequestKey("session_id", str)
ACCESS = web.RequestKey("access", Access)

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_UNKNOWN = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        ErrorCode.RESOURCE_NOT_FOUND,
    }
)
_FORBIDDEN = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    }
)


class Denied(Exception):
    """Not on account of what Kafka allows, but of how it was asked."""

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def middlewares() -> list[Middleware]:
    """From the outside inwards."""
    return [_with_headers, _with_errors, _of_our_own, _with_access]


@web.middleware
async def _with_headers(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A stream of events has them from the beginning: its headers are sent before this sees it again."""
    response = await handler(request)
    if not response.prepared:
        response.headers.update(HEADERS)
    return response


@web.middleware
async def _with_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        return failure(error.status, HTTPStatus(error.status).name, HTTPStatus(error.status).phrase)
    except Denied as error:
        return failure(error.status, error.code, str(error))
    except NotLetIn as error:
        return failure(HTTPStatus.UNAUTHORIZED, "SASL_AUTHENTICATION_FAILED", str(error))
    except Refused as error:
        return failure(_status_of(error.code), error.code.name, str(error))
    except Unreachable as error:
        return failure(HTTPStatus.SERVICE_UNAVAILABLE, "UNREACHABLE", str(error))
    except InvalidData as error:
        return failure(HTTPStatus.BAD_REQUEST, "INVALID", str(error))
    except (KafkaError, TimeoutError) as error:
        return failure(HTTPStatus.BAD_GATEWAY, type(error).__name__.upper(), str(error) or "no answer in time")
    except Exception:
        logger.exception("page failed method=%s path=%r", request.method, request.path)
        return failure(HTTPStatus.INTERNAL_SERVER_ERROR, "BUG", "the console failed; its log says where")


def failure(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=status)


def _status_of(code: ErrorCode) -> HTTPStatus:
    if code in _UNKNOWN:
        return HTTPStatus.NOT_FOUND
    if code in _FORBIDDEN:
        return HTTPStatus.FORBIDDEN
    return HTTPStatus.SERVICE_UNAVAILABLE if code.retriable else HTTPStatus.CONFLICT


@web.middleware
async def _of_our_own(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Only a page of ours is answered: not one whose name somebody has pointed at this address, and not one of another site."""
    if not _is_ours(request.host, request.app[SETTINGS].hosts):
        raise Denied(
            HTTPStatus.MISDIRECTED_REQUEST,
            "UNKNOWN_HOST",
            "this console does not go by that name: --allow-host names those it is reached by",
        )
    session_id = request.cookies.get(cookie_of(request), "")
    request[SESSION_ID] = session_id
    if request.method not in ("GET", "HEAD") and not (
        session_id and request.app[ACCESSES].is_token_of(request.headers.get(TOKEN_HEADER, ""), session_id)
    ):
        raise Denied(HTTPStatus.FORBIDDEN, "WRONG_TOKEN", "this page is out of date: load it again")
    return await handler(request)


@web.middleware
async def _with_access(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What is asked of the cluster is asked in somebody's name."""
    if request.path.startswith(API) and request.path not in FOR_EVERYBODY:
        access = await request.app[ACCESSES].of(request[SESSION_ID], now_ms())
        if access is None:
            raise Denied(HTTPStatus.UNAUTHORIZED, "NOT_LOGGED_IN", "log in")
        request[ACCESS] = access
    return await handler(request)


def cookie_of(request: web.Request) -> str:
    """A browser sends cookies to every port of a host: the name tells consoles apart."""
    port = request.host.rpartition(":")[2]
    return f"{COOKIE}-{port}" if port.isdecimal() else COOKIE


def now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)


def _is_ours(host: str, names: frozenset[str]) -> bool:
    """Addresses are: a name is what somebody else can point here."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and not host.endswith("]") else host
    name = name.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost") or name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
