"""Who may see and change the configuration of a resource: topics and groups by their own ACLs, all else by those of the cluster."""

from typing import Any, TypeVar

from millstream_cluster.acls import CLUSTER_NAME, AclOperation, AclResource
from millstream_cluster.answers.describe_configs import WireResourceType
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_where
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)

_OWN = {WireResourceType.TOPIC: AclResource.TOPIC, WireResourceType.GROUP: AclResource.GROUP}


def refuse_configs(request: Request[R], context: RequestContext, operation: AclOperation) -> R | None:
    """Leave in the request's list `resources` what may be done; the answer to the others, if there are any."""
    refused: R | None = None
    for resource in (AclResource.TOPIC, AclResource.GROUP, AclResource.CLUSTER):
        more = _refuse(request, context, operation, resource)
        refused = more if refused is None else joined(refused, more)
    return refused


def _refuse(request: Request[R], context: RequestContext, operation: AclOperation, resource: AclResource) -> R | None:
    def is_permitted(asked: Any) -> bool:
        name = CLUSTER_NAME if resource is AclResource.CLUSTER else asked.resource_name
        return _resource(asked) is not resource or context.may(operation, resource, name)

    if context.may_what is None:
        return None
    return refuse_where(
        request, context, "resources", is_permitted, operation, resource, name=lambda asked: asked.resource_name
    )


def _resource(asked: Any) -> AclResource:
    return _OWN.get(asked.resource_type, AclResource.CLUSTER)
