"""UpdateFeatures (57), versions 0 to 2."""

from millstream_cluster.acls import AclOperation
from millstream_controller.core.features import FeatureUpdate, UpgradeType, update_features
from millstream_controller.core.refusal import Outcome
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import UpdateFeaturesRequest, UpdateFeaturesResponse
from millstream_wire.messages.update_features import FeatureUpdateKey, UpdatableFeatureResult


async def handle_update_features(
    controller: Controller, request: UpdateFeaturesRequest, context: RequestContext
) -> UpdateFeaturesResponse:
    wanted = [_update(update, context.version) for update in request.feature_updates]
    try:
        refused = refuse_all(request, context, AclOperation.ALTER)
        if refused is not None:
            return refused
        active = controller.active
        readable = active.observers.levels(controller.world.now_ms())
        outcome = await active.execute(
            lambda machine: update_features(machine, wanted, readable=readable, validate_only=request.validate_only)
        )
    except NotActive:
        outcome = Outcome(ErrorCode.NOT_CONTROLLER)
    done = [UpdatableFeatureResult(feature=update.name, error_message=ErrorCode.NONE.name) for update in wanted]
    return UpdateFeaturesResponse(
        error_code=outcome.error,
        error_message=outcome.message,
        results=[] if outcome.error else done,
    )


def _update(update: FeatureUpdateKey, version: int) -> FeatureUpdate:
    kind = update.upgrade_type
    if version == 0:
        kind = UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else UpgradeType.UPGRADE
    return FeatureUpdate(update.feature, update.max_version_level, kind)
