"""Has a handler's changes said, whatever becomes of the request: answered, failed, or asked by somebody who did not wait."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from millstream_runtime.serving.audit.audit import Audit
from millstream_runtime.serving.audit.changes import CHANGES, Changes
from millstream_runtime.serving.audit.event import AuditEvent, AuditKind
from millstream_runtime.serving.context import RawReply, RequestContext
from millstream_runtime.serving.peer import is_node
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.schema import Request

Handle = Callable[[Any, Any, RequestContext], Any]

UNKNOWN = "UNKNOWN"
"""The request has no answer: whether anything was changed is not known here."""
_NOT_DECIDED_HERE = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
"""Asked of the wrong node: the right one says what became of it."""
_DENIED = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
"""The authorizer has said so."""


def recorded(request: type[Request[Any]], handle: Handle) -> Handle:
    """The same handler, of whose changes is said who asked for them and what the answer was."""
    describe = CHANGES[ApiKey(request.api_key)]

    def open_record(asked: Any, context: RequestContext) -> "_Record | None":
        audit = context.connection.audit
        changes = describe(asked, context.peer) if audit is not None else None
        return _Record(audit, changes, context) if audit is not None and changes is not None else None

    if inspect.iscoroutinefunction(handle):

        async def handle_and_say(app: Any, asked: Any, context: RequestContext) -> Any:
            record = open_record(asked, context)
            if record is None:
                return await handle(app, asked, context)
            with record.of_failure():
                reply = await handle(app, asked, context)
            record.answered(reply)
            return reply

        return handle_and_say

    def handle_at_once(app: Any, asked: Any, context: RequestContext) -> Any:
        record = open_record(asked, context)
        if record is None:
            return handle(app, asked, context)
        with record.of_failure():
            reply = handle(app, asked, context)
        if inspect.isawaitable(reply):
            return _when_answered(reply, record)
        record.answered(reply)
        return reply

    return handle_at_once


async def _when_answered(reply: Awaitable[Any], record: "_Record") -> Any:
    with record.of_failure():
        answer = await reply
    record.answered(answer)
    return answer


class _Record:
    """Of one request."""

    def __init__(self, audit: Audit, changes: Changes, context: RequestContext) -> None:
        self._audit = audit
        self._changes = changes
        self._api = context.api_key.name
        self._who = str(context.peer)
        self._host = context.host
        self._tells_of_refusals = not is_node(context.peer)
        """Nodes ask for the same from several sides: what they need is there once one of them was heard."""

    @contextmanager
    def of_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            for resource, detail in self._changes.asked:
                self._say(resource, detail, UNKNOWN)
            raise

    def answered(self, reply: Any) -> None:
        if isinstance(reply, RawReply):  # of the node that carried it out, and said so
            return
        asked = self._changes.asked
        details = dict(asked)
        detail_of_one = asked[0][1] if len(asked) == 1 else ""
        for resource, error in self._changes.answers(reply):
            code = ErrorCode(error)
            if code in _NOT_DECIDED_HERE or code in _DENIED:
                continue
            if code is ErrorCode.NONE or self._tells_of_refusals:
                self._say(resource, details.get(resource, detail_of_one), code.name)

    def _say(self, resource: str, detail: str, answer: str) -> None:
        fields = [("api", self._api), ("resource", resource), ("answer", answer)]
        if detail:
            fields.append(("detail", detail))
        is_kept = answer in (ErrorCode.NONE.name, UNKNOWN) and not self._changes.is_routine
        self._audit.note(
            AuditEvent.of(AuditKind.ADMINISTRATION, "change", self._who, self._host, *fields, is_kept=is_kept)
        )
