"""Who is given a producer id: with a transactional id, who may write with that; else whoever may write anywhere at all (KIP-679)."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode


def refusal_of_producer(context: RequestContext, transactional_id: str | None) -> ErrorCode:
    if transactional_id is not None:
        if context.may(AclOperation.WRITE, AclResource.TRANSACTIONAL_ID, transactional_id):
            return ErrorCode.NONE
        context.denied(AclOperation.WRITE, AclResource.TRANSACTIONAL_ID, transactional_id)
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    may = context.may(AclOperation.IDEMPOTENT_WRITE, AclResource.CLUSTER)
    if may or context.may_any(AclOperation.WRITE, AclResource.TOPIC):
        return ErrorCode.NONE
    context.denied(AclOperation.IDEMPOTENT_WRITE, AclResource.CLUSTER)
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
