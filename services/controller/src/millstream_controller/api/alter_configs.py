"""AlterConfigs (33), versions 0 to 2: sets the whole of a resource's configs. Left out as in IncrementalAlterConfigs."""

from millstream_cluster.acls import AclOperation
from millstream_controller.core.altered_configs import Resource, alter_whole
from millstream_controller.core.refusal import Outcome
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.config_rights import refuse_configs
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterConfigsRequest, AlterConfigsResponse
from millstream_wire.messages.alter_configs import AlterConfigsResource, AlterConfigsResourceResponse


async def handle_alter_configs(
    controller: Controller, request: AlterConfigsRequest, context: RequestContext
) -> AlterConfigsResponse:
    refused = None
    try:
        refused = refuse_configs(request, context, AclOperation.ALTER_CONFIGS)
        wanted = [
            (
                Resource.of(resource.resource_type, resource.resource_name),
                tuple((config.name, config.value) for config in resource.configs),
            )
            for resource in request.resources
        ]
        done = await controller.active.execute(
            lambda machine: alter_whole(machine, wanted, validate_only=request.validate_only)
        )
        answers = dict(done)
    except NotActive:
        nobody = Outcome(ErrorCode.NOT_CONTROLLER)
        answers = {Resource.of(each.resource_type, each.resource_name): nobody for each in request.resources}
    answer = AlterConfigsResponse(
        responses=[
            _response(resource, answers[Resource.of(resource.resource_type, resource.resource_name)])
            for resource in request.resources
        ]
    )
    return joined(answer, refused)


def _response(resource: AlterConfigsResource, outcome: Outcome) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=outcome.error,
        error_message=outcome.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
