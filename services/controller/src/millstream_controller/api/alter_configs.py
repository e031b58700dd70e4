"""AlterConfigs (33), versions 0 to 2: sets the whole of a resource's configs. Left out as in IncrementalAlterConfigs."""

from millstream_controller.core.altered_configs import Resource, alter_whole
from millstream_controller.core.refusal import Outcome
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterConfigsRequest, AlterConfigsResponse
from millstream_wire.messages.alter_configs import AlterConfigsResource, AlterConfigsResourceResponse


async def handle_alter_configs(
    controller: Controller, request: AlterConfigsRequest, context: RequestContext
) -> AlterConfigsResponse:
    wanted = [
        (
            Resource.of(resource.resource_type, resource.resource_name),
            tuple((config.name, config.value) for config in resource.configs),
        )
        for resource in request.resources
    ]
    try:
        done = await controller.active.execute(
            lambda machine: alter_whole(machine, wanted, validate_only=request.validate_only)
        )
        answers = dict(done)
    except NotActive:
        answers = {resource: Outcome(ErrorCode.NOT_CONTROLLER) for resource, _ in wanted}
    return AlterConfigsResponse(
        responses=[
            _response(resource, answers[Resource.of(resource.resource_type, resource.resource_name)])
            for resource in request.resources
        ]
    )


def _response(resource: AlterConfigsResource, outcome: Outcome) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=outcome.error,
        error_message=outcome.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
