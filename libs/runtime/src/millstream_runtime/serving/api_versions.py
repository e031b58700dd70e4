"""ApiVersions (API key 18), versions 0-4: answered for every service alike, from what it handles.

The one API whose answer must be readable by a client of any age: an unknown version is answered in version 0 (KIP-511).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ApiVersionsRequest, ApiVersionsResponse
from millstream_wire.messages.api_versions import ApiVersion, FinalizedFeatureKey, SupportedFeatureKey

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@dataclass(frozen=True, slots=True)
class Features:
    """Feature levels: what this node could do, and what the cluster has agreed on (as of metadata offset `epoch`)."""

    supported: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    finalized: Mapping[str, int] = field(default_factory=dict)
    epoch: int = -1


NO_FEATURES = Features()


def answer(
    request: ApiVersionsRequest, version: int, advertised: Mapping[ApiKey, tuple[int, int]], features: Features
) -> ApiVersionsResponse:
    if version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(
        api_keys=_api_keys(advertised),
        supported_features=[
            SupportedFeatureKey(name=name, min_version=least, max_version=most)
            for name, (least, most) in features.supported.items()
            if least > 0 or version >= 4  # KIP-1022: older clients reject a level of 0
        ],
        finalized_features_epoch=features.epoch,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in features.finalized.items()
        ],
    )


def unsupported(advertised: Mapping[ApiKey, tuple[int, int]]) -> ApiVersionsResponse:
    """The answer, in version 0, to a version that we do not know."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_api_keys(advertised))


def _api_keys(advertised: Mapping[ApiKey, tuple[int, int]]) -> list[ApiVersion]:
    return [
        ApiVersion(api_key=key, min_version=least, max_version=most)
        for key, (least, most) in sorted(advertised.items())
    ]
