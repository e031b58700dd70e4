"""Refusals that an answer made from an Image holds: they are said here, since nobody asks in the client's name there."""

from collections.abc import Iterable
from typing import Any

from millstream_cluster.acls import AclOperation, AclResource
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode

_OF = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: (AclOperation.DESCRIBE, AclResource.TOPIC),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: (AclOperation.DESCRIBE, AclResource.GROUP),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (AclOperation.DESCRIBE, AclResource.TRANSACTIONAL_ID),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (AclOperation.CLUSTER_ACTION, AclResource.CLUSTER),
}


def say_denied(context: RequestContext, answers: Iterable[tuple[Any, int]]) -> None:
    """Of each answer who it is about, and its error."""
    if context.may_what is None:
        return
    for name, code in answers:
        if code in _OF:
            operation, resource = _OF[ErrorCode(code)]
            context.denied(operation, resource, str(name))
