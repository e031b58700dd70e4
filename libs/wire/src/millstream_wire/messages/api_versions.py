"""ApiVersions (API key 18): which APIs, versions and features a node offers."""

from millstream_wire.schema import (
    OWN_TAGS,
    Request,
    Response,
    boolean,
    field,
    int16,
    int32,
    int64,
    message,
    string,
    struct,
)


@message(api_key=18, versions=(0, 5), flexible=3)
class ApiVersionsRequest(Request["ApiVersionsResponse"]):
    client_software_name: string = field(default="", since=3)
    client_software_version: string = field(default="", since=3)
    cluster_id: string | None = field(default=None, since=5)
    node_id: int32 = field(default=-1, since=5)
    sender_node_id: int32 = field(default=-1, since=3, tag=OWN_TAGS, tagged_since=3)
    """Ours, not Kafka's: which node of the cluster introduces itself. Who does not know the tag skips it."""


@struct
class ApiVersion:
    api_key: int16 = 0
    min_version: int16 = 0
    max_version: int16 = 0


@struct
class SupportedFeatureKey:
    name: string = field(default="", since=3)
    min_version: int16 = field(default=0, since=3)
    max_version: int16 = field(default=0, since=3)


@struct
class FinalizedFeatureKey:
    name: string = field(default="", since=3)
    max_version_level: int16 = field(default=0, since=3)
    min_version_level: int16 = field(default=0, since=3)


@message(api_key=18, versions=(0, 5), flexible=3)
class ApiVersionsResponse(Response):
    error_code: int16 = 0
    api_keys: list[ApiVersion] = field(default_factory=list)
    throttle_time_ms: int32 = field(default=0, since=1)
    supported_features: list[SupportedFeatureKey] = field(default_factory=list, since=3, tag=0)
    finalized_features_epoch: int64 = field(default=-1, since=3, tag=1)
    finalized_features: list[FinalizedFeatureKey] = field(default_factory=list, since=3, tag=2)
    zk_migration_ready: boolean = field(default=False, since=3, tag=3)
