"""What members of groups need: to read as the group, and to describe what they subscribe to; and who may look at them."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.answers.operations import authorized_operations
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)
_DESCRIBE, _TOPIC = AclOperation.DESCRIBE, AclResource.TOPIC
NOT_SHOWN = "The group has members with topics that the client is not authorized to describe."


def refuse_member(request: Request[R], context: RequestContext, topics: Iterable[str] | None) -> R | None:
    """The answer to a heartbeat that may not be sent: one subscription that may not be described is enough."""
    group_id: str = request.group_id  # type: ignore[attr-defined]
    denied = refuse_all(request, context, AclOperation.READ, AclResource.GROUP, group_id)
    if denied is not None:
        return denied
    unseen = next((topic for topic in topics or () if not context.may(_DESCRIBE, _TOPIC, topic)), None)
    if unseen is None:
        return None
    context.denied(_DESCRIBE, _TOPIC, unseen)
    return error_response(request, context.version, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def topic_filter(context: RequestContext) -> Callable[[str], bool] | None:
    """Which topics a regular expression of the member may match; None: all."""
    may = context.may_what
    return None if may is None else lambda topic: may(_DESCRIBE, _TOPIC, topic)


def finish_description(
    described: Any, context: RequestContext, assignments: Iterable[Any], *, asks_operations: bool
) -> Any:
    """A described group as this client may see it: without its members, if there is a topic among theirs that he may not."""
    if described.error_code != ErrorCode.NONE:
        return described
    names = {topic.topic_name for assignment in assignments for topic in assignment.topic_partitions}
    unseen = next((name for name in sorted(names) if not context.may(_DESCRIBE, _TOPIC, name)), None)
    if unseen is not None:
        context.denied(_DESCRIBE, _TOPIC, unseen)
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return type(described)(group_id=described.group_id, error_code=code, error_message=NOT_SHOWN)
    if asks_operations:
        described.authorized_operations = authorized_operations(context.may_what, AclResource.GROUP, described.group_id)
    return described
