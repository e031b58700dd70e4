"""What is said of security without any must be encodable in every version of its API."""

import pytest

from millstream_cluster.answers.no_security import refuse_security
from millstream_wire.api import API, ApiKey
from millstream_wire.codec import decode, encode

KEYS = (17, 29, 30, 31, 36, 38, 39, 40, 41, 50)


@pytest.mark.parametrize("key", KEYS)
def test_every_version_is_answered(key: int) -> None:
    api = API[ApiKey(key)]
    for version in range(api.versions[0], api.versions[1] + 1):
        assert decode(api.response, version, encode(refuse_security(api.request(), version), version)) is not None
