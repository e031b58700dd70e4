"""What another node answered, read for what it says to us, while its bytes go on to whoever asked."""

from typing import Any

from millstream_wire.api import API, ApiKey
from millstream_wire.codec import DecodeError, decode


def decoded_answer(key: ApiKey, version: int, answer: bytes) -> Any:
    """The message of an answer without its correlation id; None if it makes no sense to us (its receiver may know better)."""
    api = API[key]
    flexible = api.flexible is not None and version >= api.flexible and key != ApiKey.API_VERSIONS
    try:
        return decode(api.response, version, memoryview(answer)[1 if flexible else 0 :])
    except DecodeError:
        return None
