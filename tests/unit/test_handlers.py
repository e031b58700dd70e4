"""The tables of what each service serves: a row is made with its first request, so here all of them are made."""

import pytest

import millstream_broker.api
import millstream_controller.api
import millstream_coordinator.api
from millstream_runtime.serving.handlers import Handlers
from millstream_wire.api import API, ApiKey

SERVICES: dict[str, Handlers] = {
    "broker": millstream_broker.api.HANDLERS,
    "controller": millstream_controller.api.HANDLERS,
    "coordinator": millstream_coordinator.api.HANDLERS,
}
ROWS = [(service, key) for service, handlers in SERVICES.items() for key in handlers]


@pytest.mark.parametrize(("service", "key"), ROWS, ids=lambda each: getattr(each, "name", each))
def test_a_row_serves_the_requests_of_its_key(service: str, key: ApiKey) -> None:
    handler = SERVICES[service][key]
    assert handler.request is API[key].request
    assert callable(handler.handle)
    assert handler.handle is handler.handle, "made once"
