"""The part of a request that its sender may not ask: taken out of the request, and answered beside the rest.

Denial of one item stops no other. What is refused is answered without a look at whether it exists.
"""

import dataclasses
from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any, TypeVar

from millstream_cluster.acls import CLUSTER_NAME, AclOperation, AclResource
from millstream_runtime.serving.context import RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)

ERRORS = {
    AclResource.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    AclResource.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    AclResource.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    AclResource.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    AclResource.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}


def refuse_all(
    request: Request[R],
    context: RequestContext,
    operation: AclOperation,
    resource: AclResource = AclResource.CLUSTER,
    name: str = CLUSTER_NAME,
) -> R | None:
    """The answer to all of the request, if it may not be asked."""
    if context.may(operation, resource, name):
        return None
    context.denied(operation, resource, name)
    return error_response(request, context.version, ERRORS[resource])


def _itself_or_name(item: Any) -> str:
    """Versions that name topics by their ids leave the names empty."""
    if isinstance(item, str):
        return item
    return item.name or str(item.topic_id)


def refuse_some(
    request: Request[R],
    context: RequestContext,
    items: str,
    operation: AclOperation,
    resource: AclResource = AclResource.TOPIC,
    *,
    name: Callable[[Any], str] = _itself_or_name,
) -> R | None:
    """Leave in the request's list `items` what may be done; the answer to the others, if there are any."""
    may = context.may_what
    if may is None:
        return None
    return refuse_where(
        request, context, items, lambda item: may(operation, resource, name(item)), operation, resource, name=name
    )


def refuse_where(
    request: Request[R],
    context: RequestContext,
    items: str,
    is_permitted: Callable[[Any], bool],
    operation: AclOperation,
    resource: AclResource = AclResource.TOPIC,
    *,
    name: Callable[[Any], str] = _itself_or_name,
) -> R | None:
    """As `refuse_some`, where what is asked is not one question; what was denied is said by `operation`."""
    listed = getattr(request, items) or ()
    refused = [item for item in listed if not is_permitted(item)]
    if not refused:
        return None
    setattr(request, items, [item for item in listed if is_permitted(item)])
    asked = copy(request)
    setattr(asked, items, refused)
    for item in refused:
        context.denied(operation, resource, name(item))
    answer = error_response(asked, context.version, ERRORS[resource])
    if hasattr(answer, "error_code"):
        answer.error_code = ErrorCode.NONE  # what is wrong is wrong with some
    return answer


def beside(answer: R | Awaitable[R], refused: R | None) -> R | Awaitable[R]:
    """The whole answer: to what was done, and what was refused behind it."""
    if refused is None:
        return answer
    if isinstance(answer, Response):
        return joined(answer, refused)
    return _joined_later(answer, refused)


async def _joined_later(answer: Awaitable[R], refused: R) -> R:
    return joined(await answer, refused)


def joined(answer: R, refused: R | None) -> R:
    if refused is not None:
        for each in dataclasses.fields(refused):  # type: ignore[arg-type]
            more = getattr(refused, each.name)
            if isinstance(more, list) and more:
                setattr(answer, each.name, [*(getattr(answer, each.name) or ()), *more])
    return answer
