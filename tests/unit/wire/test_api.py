"""The table of APIs."""

from millstream_wire import messages
from millstream_wire.api import API, ApiKey
from millstream_wire.schema import Message


def test_every_message_is_in_the_table_once() -> None:
    declared: set[type[Message]] = {getattr(messages, name) for name in messages.__all__}
    assert {api.request for api in API.values()} | {api.response for api in API.values()} == declared
    assert len(declared) == 2 * len(API)


def test_request_and_response_agree_with_each_other_and_the_table() -> None:
    for key, api in API.items():
        assert (api.key, api.request.api_key, api.response.api_key) == (key, key, key)
        assert api.request.__name__ == f"{api.name}Request"
        assert api.response.__name__ == f"{api.name}Response"
        assert api.request.versions == api.response.versions
        assert api.request.flexible == api.response.flexible == api.flexible
        assert (api.request.is_request, api.response.is_request) == (True, False)


def test_what_is_advertised_differs_from_what_can_be_read_only_where_kafka_does_so() -> None:
    different = {key: api.versions for key, api in API.items() if api.versions != api.request.versions}
    assert different == {ApiKey.PRODUCE: (0, 13), ApiKey.INIT_PRODUCER_ID: (0, 5)}


def test_kafkas_names() -> None:
    assert (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.API_VERSIONS) == (0, 1, 2, 18)
    assert API[ApiKey.LIST_OFFSETS].name == "ListOffsets"
