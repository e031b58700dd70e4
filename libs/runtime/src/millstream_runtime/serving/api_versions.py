"""ApiVersions (API key 18), versions 0-5: answered for every service alike, from what it handles.

The one API whose answer must be readable by a client of any age: an unknown version is answered in version 0 (KIP-511).
From version 5 a client says whom it means to talk to, and one that came to another node is told to begin anew (KIP-1242).
"""

import re
from collections.abc import Mapping
from dataclasses import field

from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class Identity:
    """Who clients may mean when they come here."""

    cluster_id: str | None = None
    """None as long as it is not known, and where nobody is turned away."""
    node_ids: frozenset[int] = frozenset()
    """More than one where several roles share the listeners."""

    def is_meant_by(self, request: ApiVersionsRequest) -> bool:
        """A client that knows no cluster yet, or an older one, means whoever answers."""
        if request.cluster_id is None or self.cluster_id is None:
            return True
        return request.cluster_id == self.cluster_id and request.node_id in self.node_ids

    def beside(self, other: "Identity") -> "Identity":
        return Identity(self.cluster_id, self.node_ids | other.node_ids)


ANYBODY = Identity()


def answer(
    request: ApiVersionsRequest,
    version: int,
    advertised: Mapping[ApiKey, tuple[int, int]],
    features: Features,
    identity: Identity = ANYBODY,
) -> ApiVersionsResponse:
    if version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if not identity.is_meant_by(request):
        return ApiVersionsResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
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
