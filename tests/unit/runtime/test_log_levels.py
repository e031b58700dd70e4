"""Log levels are this process's; what else a request asks for is the controller's."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from millstream_runtime.log_levels import BROKER_LOGGER, alter_log_levels, log_levels
from millstream_runtime.nodes.client import ClientError
from millstream_runtime.serving.context import Connection, RequestContext
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
from millstream_wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
)

NAME = "millstream.tests.log-levels"
SET, DELETE = 0, 1
TOPIC = AlterConfigsResource(resource_type=2, resource_name="t")
CONTEXT = RequestContext(
    ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, 7, "client", b"", Connection(1, "10.0.0.7:4711", "PLAINTEXT"), 0
)


class Controllers:
    """The controller's side: answers for what it is given, or is not there."""

    def __init__(self, *, there: bool = True) -> None:
        self.asked: list[IncrementalAlterConfigsRequest] = []
        self._there = there

    async def forward_part(
        self, message: IncrementalAlterConfigsRequest, context: RequestContext, *, timeout_ms: int
    ) -> Any:
        if not self._there:
            raise ClientError("gone")
        self.asked.append(message)
        return IncrementalAlterConfigsResponse(
            responses=[AlterConfigsResourceResponse(resource_type=2, resource_name="t", error_message="done")]
        )


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger(NAME)
    yield logger
    logger.setLevel(logging.NOTSET)


def alter(
    *changes: tuple[str, int, str | None],
    rest: tuple[AlterConfigsResource, ...] = (),
    controllers: Any = None,
    validate_only: bool = False,
) -> list[int]:
    configs = [AlterableConfig(name=name, config_operation=how, value=value) for name, how, value in changes]
    levels = AlterConfigsResource(resource_type=BROKER_LOGGER, resource_name="7", configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[levels, *rest], validate_only=validate_only)
    link = controllers or Controllers()
    answer = asyncio.run(alter_log_levels(request, CONTEXT, node_id=7, controllers=link, timeout_ms=1))
    return [response.error_code for response in answer.responses]


def test_a_level_is_set_and_taken_back(logger: logging.Logger) -> None:
    inherited = log_levels()[NAME]
    for text, level in (("FATAL", logging.CRITICAL), ("WARN", logging.WARNING), ("TRACE", 5)):
        assert alter((NAME, SET, text)) == [ErrorCode.NONE]
        assert logger.level == level
        assert log_levels()[NAME] == text
    assert alter((NAME, DELETE, None)) == [ErrorCode.NONE]
    assert log_levels()[NAME] == inherited


def test_a_level_between_kafkas_is_shown_as_the_one_below(logger: logging.Logger) -> None:
    logger.setLevel(logging.WARNING + 1)
    assert log_levels()[NAME] == "WARN"
    logger.setLevel(1)
    assert log_levels()[NAME] == "TRACE"


def test_all_of_a_nodes_changes_are_made_or_none(logger: logging.Logger) -> None:
    assert alter((NAME, SET, "DEBUG"), ("no.such.logger", SET, "DEBUG")) == [ErrorCode.INVALID_CONFIG]
    assert alter((NAME, SET, "DEBUG"), validate_only=True) == [ErrorCode.NONE]
    assert logger.level == logging.NOTSET


def test_the_rest_of_a_request_is_the_controllers(logger: logging.Logger) -> None:
    controllers = Controllers()
    assert alter((NAME, SET, "DEBUG"), rest=(TOPIC,), controllers=controllers) == [ErrorCode.NONE, ErrorCode.NONE]
    assert [request.resources for request in controllers.asked] == [[TOPIC]]
    lost = alter((NAME, SET, "INFO"), rest=(TOPIC,), controllers=Controllers(there=False))
    assert lost == [ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT]
