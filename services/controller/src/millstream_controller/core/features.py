"""UpdateFeatures as a decision: all of a request's features change or none, as since Kafka 4.0.

The level of metadata.version only rises, and only to what everybody who follows the log has said that it can read.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.features import METADATA_VERSION, SUPPORTED_FEATURES, levels_of, supports
from millstream_cluster.ids import Role, role_of
from millstream_cluster.image import Image
from millstream_cluster.metadata_version import MetadataVersion
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

RAFT_VERSION = "kraft.version"
RAFT_LEVELS = range(2)
"""Taken without any effect: `kafka-features upgrade --release-version` always names it, and it is about the voters of
Kafka's own metadata quorum, where this cluster has a store."""


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
    machine: ControllerMachine,
    updates: Sequence[FeatureUpdate],
    *,
    readable: Mapping[int, int] | None,
    validate_only: bool,
) -> Decision[r.MetadataRecord, Outcome]:
    """Of a feature that is named more than once, the last holds.

    `readable`: the highest metadata.version that each follower of the log can read, as it says at each of its fetches; None: this
    controller became active too lately to have heard everybody.
    """
    records: list[r.MetadataRecord] = []
    for update in {update.name: update for update in updates}.values():
        try:
            if update.name == METADATA_VERSION:
                records += _raised(machine, update, readable)
            elif update.name != RAFT_VERSION or update.level not in RAFT_LEVELS:
                records += _changed(machine, update)
        except Refused as refused:
            message = (
                "The update failed for all features since the following feature had an error: "
                f"Invalid update version {update.level} for feature {update.name}. {refused.message}"
            )
            return Decision((), Outcome(refused.error, message))
    return Decision(() if validate_only else tuple(records), DONE)


def _raised(
    machine: ControllerMachine, update: FeatureUpdate, readable: Mapping[int, int] | None
) -> list[r.MetadataVersionSet]:
    current = machine.image.metadata_version
    _check_type(update)
    if update.level not in set(MetadataVersion):
        levels = ", ".join(f"{level}" for level in MetadataVersion)
        raise _invalid(f"{_local(machine)} knows the levels {levels}.")
    if update.level < current:
        raise _invalid("The level never goes down: the metadata log may hold what a lower one has no place for.")
    if update.level > current and update.upgrade_type != UpgradeType.UPGRADE:
        raise _invalid("Can't downgrade to a newer version.")
    if update.level == current:
        return []
    if readable is None:
        raise _invalid(f"{_local(machine)} has just become active and not heard yet what all nodes read: try again.")
    late = _who_cannot_read(machine.image, update.level, readable)
    if late is not None:
        raise _invalid(late)
    return [r.MetadataVersionSet(update.level)]


def _who_cannot_read(image: Image, level: int, readable: Mapping[int, int]) -> str | None:
    """A node that would have to stop; one that is registered and away counts as well, because it may come back."""
    for node in sorted(image.nodes.values(), key=lambda node: node.node_id):
        heard = readable.get(node.node_id)
        can = supports(node.features, METADATA_VERSION, level) if heard is None else heard >= level
        if not can:
            state = "has not said what it reads" if heard is None and not node.features else "reads less"
            return (
                f"{node.role.value.capitalize()} {node.node_id} {state}: start it with a release that reads this level, "
                "or unregister it."
            )
    for node_id, heard in sorted(readable.items()):
        if heard < level and role_of(node_id) is Role.CONTROLLER:
            return f"Controller {node_id} reads up to {heard}: start it with a release that reads this level."
    return None


def _changed(machine: ControllerMachine, update: FeatureUpdate) -> list[r.FeatureLevelSet]:
    if update.level < 0:
        raise _invalid("A feature version cannot be less than 0.")
    _check_type(update)
    if update.name not in SUPPORTED_FEATURES:
        if update.level == 0:
            raise _invalid(f"Feature {update.name} not found.")
        raise _invalid(f"{_local(machine)} does not support this feature.")
    least, most = SUPPORTED_FEATURES[update.name]
    if not least <= update.level <= most:
        raise _invalid(f"{_local(machine)} only supports versions {least}-{most}")
    current = levels_of(machine.image)[update.name]
    if update.level < current and update.upgrade_type == UpgradeType.UPGRADE:
        raise _invalid(
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
        )
    if update.level > current and update.upgrade_type != UpgradeType.UPGRADE:
        raise _invalid("Can't downgrade to a newer version.")
    return [] if update.level == current else [r.FeatureLevelSet(update.name, update.level)]


def _check_type(update: FeatureUpdate) -> None:
    if update.upgrade_type not in tuple(UpgradeType):
        raise _invalid("The controller does not support the given upgrade type.")


def _local(machine: ControllerMachine) -> str:
    controller = machine.image.controller
    return f"Local controller {controller.controller_id if controller is not None else -1}"


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_UPDATE_VERSION, message)
