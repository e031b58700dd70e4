"""How much this process logs, by logger, as BROKER_LOGGER configs: shown by DescribeConfigs, changed by IncrementalAlterConfigs.

Levels have Kafka's names. They belong to the process and are forgotten when it ends; the roles of one process share them.
"""

import logging
from collections import Counter

from millstream_cluster.acls import AclOperation, AclResource
from millstream_runtime.nodes.client import ClientError, ForwardingRefused
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.serving.context import RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
from millstream_wire.messages.incremental_alter_configs import AlterConfigsResource, AlterConfigsResourceResponse

BROKER_LOGGER = 8
ROOT = "root"
_SET, _DELETE = 0, 1
_OPERATIONS = {2: "APPEND", 3: "SUBTRACT"}
_LEVELS = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": logging.DEBUG // 2,
    "WARN": logging.WARNING,
}


class _Wrong(Exception):
    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


def log_levels() -> dict[str, str]:
    """Every logger and the level that holds for it."""
    named = {
        name: logger for name, logger in logging.root.manager.loggerDict.items() if isinstance(logger, logging.Logger)
    }
    return {name: _name(logger) for name, logger in sorted({ROOT: logging.root, **named}.items())}


def _name(logger: logging.Logger) -> str:
    """The nearest level of Kafka's that lets through what this one does."""
    level = logger.getEffectiveLevel()
    return max(_LEVELS, key=lambda name: _LEVELS[name] if _LEVELS[name] <= level else -_LEVELS[name])


def changes_log_levels(request: IncrementalAlterConfigsRequest) -> bool:
    return any(resource.resource_type == BROKER_LOGGER for resource in request.resources)


async def alter_log_levels(
    request: IncrementalAlterConfigsRequest,
    context: RequestContext,
    *,
    node_id: int,
    controllers: ControllerLink,
    timeout_ms: int,
) -> IncrementalAlterConfigsResponse:
    """Change the levels that a request names, here; the rest of it is the controller's."""
    rest = [resource for resource in request.resources if resource.resource_type != BROKER_LOGGER]
    here = [resource for resource in request.resources if resource.resource_type == BROKER_LOGGER]
    named = Counter(resource.resource_name for resource in here)
    answers = [
        _alter(resource, node_id, once=named[resource.resource_name] == 1, validate_only=request.validate_only)
        if context.may(AclOperation.ALTER_CONFIGS, AclResource.CLUSTER)
        else _not_permitted(resource, context)
        for resource in here
    ]
    if rest:
        there = IncrementalAlterConfigsRequest(resources=rest, validate_only=request.validate_only)
        try:
            answered = await controllers.forward_part(there, context, timeout_ms=timeout_ms)
        except ForwardingRefused as refused:
            answered = error_response(there, context.version, refused.code, str(refused))
        except ClientError as error:
            # Perhaps it was executed: the client has to look, as after any timeout.
            text = f"No answer from the controller: {error}"
            answered = error_response(there, context.version, ErrorCode.REQUEST_TIMED_OUT, text)
        answers += answered.responses
    told = {(answer.resource_type, answer.resource_name): answer for answer in answers}
    return IncrementalAlterConfigsResponse(
        responses=[told[resource.resource_type, resource.resource_name] for resource in request.resources]
    )


def _alter(
    resource: AlterConfigsResource, node_id: int, *, once: bool, validate_only: bool
) -> AlterConfigsResourceResponse:
    answer = AlterConfigsResourceResponse(resource_type=resource.resource_type, resource_name=resource.resource_name)
    try:
        if not once:
            raise _Wrong(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        _check_given(resource)
        _check_node(resource.resource_name, node_id)
        changes = _changes(resource)
    except _Wrong as wrong:
        answer.error_code, answer.error_message = wrong.error, wrong.message
        return answer
    if not validate_only:
        for logger, level in changes:
            logger.setLevel(level)
    return answer


def _not_permitted(resource: AlterConfigsResource, context: RequestContext) -> AlterConfigsResourceResponse:
    context.denied(AclOperation.ALTER_CONFIGS, AclResource.CLUSTER)
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _check_given(resource: AlterConfigsResource) -> None:
    if any(count > 1 for count in Counter(config.name for config in resource.configs).values()):
        raise _Wrong(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    unset = [config.name for config in resource.configs if config.value is None and config.config_operation != _DELETE]
    if unset:
        raise _Wrong(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(unset)}")


def _check_node(name: str, node_id: int) -> None:
    if not name.removeprefix("-").isdecimal():
        raise _Wrong(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if int(name) != node_id:
        message = f"Unexpected node id. Expected {node_id}, but received {name}"
        raise _Wrong(ErrorCode.INVALID_REQUEST, message)


def _changes(resource: AlterConfigsResource) -> list[tuple[logging.Logger, int]]:
    known = log_levels()
    changes = []
    for config in resource.configs:
        name, operation = config.name, config.config_operation
        if operation not in (_SET, _DELETE):
            kind = _OPERATIONS.get(operation, str(operation))
            message = f"{kind} operation is not allowed for the BROKER_LOGGER resource"
            raise _Wrong(ErrorCode.INVALID_REQUEST, message)
        if name not in known:
            raise _Wrong(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
        if operation == _DELETE and name == ROOT:
            raise _Wrong(ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
        level = logging.NOTSET if config.value is None or operation == _DELETE else _level(name, config.value)
        changes.append((logging.root if name == ROOT else logging.getLogger(name), level))
    return changes


def _level(logger: str, text: str) -> int:
    if text not in _LEVELS:
        message = f"Cannot set the log level of {logger} to {text} as it is not a supported log level. "
        raise _Wrong(ErrorCode.INVALID_CONFIG, message + f"Valid log levels are {', '.join(sorted(_LEVELS))}")
    return _LEVELS[text]
