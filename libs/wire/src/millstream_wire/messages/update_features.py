"""UpdateFeatures (API key 57): finalize feature levels."""

from millstream_wire.schema import Request, Response, boolean, field, int8, int16, int32, message, string, struct


@struct
class FeatureUpdateKey:
    feature: string = ""
    max_version_level: int16 = 0
    allow_downgrade: boolean = field(default=False, until=0)
    upgrade_type: int8 = field(default=1, since=1)


@message(api_key=57, versions=(0, 2), flexible=0)
class UpdateFeaturesRequest(Request["UpdateFeaturesResponse"]):
    timeout_ms: int32 = 60000
    feature_updates: list[FeatureUpdateKey] = field(default_factory=list)
    validate_only: boolean = field(default=False, since=1)


@struct
class UpdatableFeatureResult:
    feature: string = ""
    error_code: int16 = 0
    error_message: string | None = None


@message(api_key=57, versions=(0, 2), flexible=0)
class UpdateFeaturesResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    results: list[UpdatableFeatureResult] = field(default_factory=list, until=1)
