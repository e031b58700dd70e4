"""UpdateFeatures as a decision: all of a request's features change or none, as since Kafka 4.0."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.features import SUPPORTED_FEATURES, feature_level
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_wire.errors import ErrorCode


class UpgradeType(IntEnum):
    """Which way a level may go, as UpdateFeatures numbers it. No downgrade of ours loses anything: both kinds are alike."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    name: str
    level: int
    upgrade_type: int


def update_features(
    machine: ControllerMachine, updates: Sequence[FeatureUpdate], *, validate_only: bool
) -> Decision[r.MetadataRecord, Outcome]:
    """Of a feature that is named more than once, the last holds."""
    records = []
    for update in {update.name: update for update in updates}.values():
        try:
            records += _changed(machine, update)
        except Refused as refused:
            message = (
                "The update failed for all features since the following feature had an error: "
                f"Invalid update version {update.level} for feature {update.name}. {refused.message}"
            )
            return Decision((), Outcome(refused.error, message))
    return Decision(() if validate_only else tuple(records), DONE)


def _changed(machine: ControllerMachine, update: FeatureUpdate) -> list[r.FeatureLevelSet]:
    if update.level < 0:
        raise _invalid("A feature version cannot be less than 0.")
    if update.upgrade_type not in tuple(UpgradeType):
        raise _invalid("The controller does not support the given upgrade type.")
    controller = machine.image.controller
    local = f"Local controller {controller.controller_id if controller is not None else -1}"
    if update.name not in SUPPORTED_FEATURES:
        if update.level == 0:
            raise _invalid(f"Feature {update.name} not found.")
        raise _invalid(f"{local} does not support this feature.")
    least, most = SUPPORTED_FEATURES[update.name]
    if not least <= update.level <= most:
        raise _invalid(f"{local} only supports versions {least}-{most}")
    current = feature_level(machine.image.feature_levels, update.name)
    if update.level < current and update.upgrade_type == UpgradeType.UPGRADE:
        raise _invalid(
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
        )
    if update.level > current and update.upgrade_type != UpgradeType.UPGRADE:
        raise _invalid("Can't downgrade to a newer version.")
    return [] if update.level == current else [r.FeatureLevelSet(update.name, update.level)]


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_UPDATE_VERSION, message)
