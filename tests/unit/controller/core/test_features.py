"""UpdateFeatures: levels go up, and down if that is said; all of a request or nothing."""

import pytest

from millstream_cluster.features import SUPPORTED_FEATURES, finalized_features
from millstream_cluster.image import Image
from millstream_controller.core.features import FeatureUpdate, UpgradeType, update_features
from millstream_wire.errors import ErrorCode

UP, SAFE, UNSAFE = UpgradeType
GROUPS, TRANSACTIONS = "group.version", "transaction.version"


def update(cluster, *updates, validate_only=False):
    wanted = [FeatureUpdate(*each) for each in updates]
    return cluster.do(update_features(cluster.machine, wanted, validate_only=validate_only))


def finalized(cluster):
    return finalized_features(cluster.image.feature_levels)


def test_a_feature_has_the_highest_level_until_somebody_says_otherwise(cluster) -> None:
    highest = {name: most for name, (_, most) in SUPPORTED_FEATURES.items()}
    assert finalized(cluster) == highest
    assert update(cluster, (TRANSACTIONS, 1, SAFE)).error is ErrorCode.NONE
    assert finalized(cluster) == {**highest, TRANSACTIONS: 1}
    assert update(cluster, (GROUPS, 0, UNSAFE)).error is ErrorCode.NONE
    assert GROUPS not in finalized(cluster)
    assert Image.of(cluster.image.records(), cluster.image.offset) == cluster.image
    assert update(cluster, (GROUPS, 1, UP), (TRANSACTIONS, 2, UP)).error is ErrorCode.NONE
    assert finalized(cluster) == highest


def test_a_level_that_this_release_does_not_know_is_not_told_to_clients(cluster) -> None:
    """A newer release may have set it, before somebody went back to this one."""
    assert finalized_features({GROUPS: 9})[GROUPS] == 1


def test_the_same_level_again_changes_nothing(cluster) -> None:
    before = cluster.image.offset
    assert update(cluster, (GROUPS, 1, UP), (GROUPS, 1, UP)).error is ErrorCode.NONE
    assert update(cluster, (GROUPS, 0, SAFE), validate_only=True).error is ErrorCode.NONE
    assert cluster.image.offset == before


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ((GROUPS, -1, UP), "less than 0"),
        ((GROUPS, 2, UP), "only supports versions 0-1"),
        ((GROUPS, 0, UP), "Can't downgrade"),
        ((GROUPS, 0, 0), "upgrade type"),
        ((GROUPS, 0, 4), "upgrade type"),
        (("metadata.version", 1, UP), "does not support this feature"),
    ],
)
def test_one_bad_level_spoils_the_request(cluster, bad, said) -> None:
    before = cluster.image.offset
    outcome = update(cluster, (TRANSACTIONS, 0, SAFE), bad)
    assert outcome.error is ErrorCode.INVALID_UPDATE_VERSION
    assert said in outcome.message
    assert cluster.image.offset == before


def test_a_level_is_not_raised_as_a_downgrade(cluster) -> None:
    update(cluster, (TRANSACTIONS, 0, SAFE))
    assert update(cluster, (TRANSACTIONS, 1, SAFE)).error is ErrorCode.INVALID_UPDATE_VERSION
    assert finalized(cluster)[GROUPS] == 1
