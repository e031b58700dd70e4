"""Headers: which version of a header goes with which message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_wire.api import ApiKey
from millstream_wire.header import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)
from millstream_wire.primitive import DecodeError


@pytest.mark.parametrize(
    ("api_key", "version", "after_client_id"),
    [
        (ApiKey.METADATA, 8, b""),
        (ApiKey.METADATA, 9, b"\x00"),
        (ApiKey.API_VERSIONS, 2, b""),
        (ApiKey.API_VERSIONS, 3, b"\x00"),
        (ApiKey.API_VERSIONS, 99, b"\x00"),
        (ApiKey.SASL_HANDSHAKE, 1, b""),
        (999, 0, b""),
    ],
)
def test_request_headers(api_key: int, version: int, after_client_id: bytes) -> None:
    header = RequestHeader(api_key=api_key, version=version, correlation_id=7, client_id="me")
    data = encode_request_header(header)
    assert data == api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\7\0\2me" + after_client_id
    assert decode_request_header(data + b"body") == (header, len(data))


def test_the_client_id_may_be_null_or_empty() -> None:
    for client_id in (None, ""):
        header = RequestHeader(api_key=3, version=9, correlation_id=-1, client_id=client_id)
        assert decode_request_header(encode_request_header(header))[0] == header


def test_tags_of_a_header_are_skipped() -> None:
    data = b"\x00\x03\x00\x09\x00\x00\x00\x01\xff\xff\x01\x00\x02ab"
    header, position = decode_request_header(data + b"body")
    assert (header.client_id, position) == (None, len(data))


def test_controlled_shutdown_0_has_no_client_id() -> None:
    header, position = decode_request_header(b"\x00\x07\x00\x00\x00\x00\x00\x01\x00\x00\x00\x05")
    assert (header.client_id, position) == (None, 8)


@pytest.mark.parametrize(
    ("api_key", "version", "tags"),
    [
        (ApiKey.FETCH, 11, b""),
        (ApiKey.FETCH, 12, b"\x00"),
        (ApiKey.API_VERSIONS, 4, b""),
        (ApiKey.SASL_HANDSHAKE, 1, b""),
    ],
)
def test_response_headers(api_key: int, version: int, tags: bytes) -> None:
    data = encode_response_header(api_key, version, 7)
    assert data == b"\0\0\0\7" + tags
    assert decode_response_header(api_key, version, data + b"body") == (7, len(data))


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x03\x00\x09\x00\x00\x00\x01\x00\x05me", b"\x00\x03\x00\x09\x00\x00\x00\x01\x00\x01\xff\x00"]
)
def test_bytes_that_are_no_header(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_request_header(data)
    with pytest.raises(DecodeError):
        decode_response_header(ApiKey.FETCH, 12, data[:4])


@given(st.binary(max_size=60))
def test_any_bytes_give_a_header_or_a_decode_error(data: bytes) -> None:
    for prefix in (b"", b"\x00\x03\x00\x09", b"\x00\x12\x00\x03"):
        try:
            _, position = decode_request_header(prefix + data)
        except DecodeError:
            continue
        assert position <= len(prefix + data)
