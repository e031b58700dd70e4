"""UpdateFeatures: levels go up, and down if that is said; all of a request or nothing. metadata.version only goes up."""

from types import MappingProxyType
from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.features import METADATA_VERSION, SUPPORTED_FEATURES, SUPPORTED_RANGES, finalized_features
from millstream_cluster.image import Image
from millstream_cluster.metadata_version import NEWEST, OLDEST
from millstream_controller.core.features import FeatureUpdate, UpgradeType, update_features
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import Registration, register
from millstream_controller.core.nodes.observers import LISTENS_MS, STANDBY_SILENT_MS_MAX, Observers
from millstream_controller.core.settings import Settings
from millstream_wire.errors import ErrorCode

UP, SAFE, UNSAFE = UpgradeType
GROUPS, TRANSACTIONS = "group.version", "transaction.version"
HIGHEST = {name: most for name, (_, most) in SUPPORTED_FEATURES.items()}
AS_IN_0_1_0 = {**HIGHEST, METADATA_VERSION: OLDEST}


def update(cluster, *updates, validate_only=False, readable=MappingProxyType({})):
    wanted = [FeatureUpdate(*each) for each in updates]
    decision = update_features(cluster.machine, wanted, readable=readable, validate_only=validate_only)
    return cluster.do(decision)


def finalized(cluster):
    return finalized_features(cluster.image)


@pytest.fixture
def old_cluster(new_cluster):
    """One that release 0.1.0 began: its log sets no level."""
    cluster = new_cluster()
    image = Image()
    for record in (r.ClusterCreated("test-cluster"), r.ControllerElected(20_000, 1, "c", 9093)):
        image.apply(record, image.offset + 1)
    cluster.machine = ControllerMachine(Settings(), image)
    return cluster


def test_a_new_cluster_has_the_highest_levels_until_somebody_says_otherwise(cluster) -> None:
    assert finalized(cluster) == HIGHEST
    assert update(cluster, (TRANSACTIONS, 1, SAFE)).error is ErrorCode.NONE
    assert finalized(cluster) == {**HIGHEST, TRANSACTIONS: 1}
    assert update(cluster, (GROUPS, 0, UNSAFE)).error is ErrorCode.NONE
    assert GROUPS not in finalized(cluster)
    assert Image.of(cluster.image.records(), cluster.image.offset) == cluster.image
    assert update(cluster, (GROUPS, 1, UP), (TRANSACTIONS, 2, UP)).error is ErrorCode.NONE
    assert finalized(cluster) == HIGHEST


def test_the_log_of_a_new_cluster_says_every_level(cluster) -> None:
    """So that a release with higher ones changes none of them."""
    said = {record.name: record.level for record in cluster.history if isinstance(record, r.FeatureLevelSet)}
    assert cluster.history[0] == r.MetadataVersionSet(NEWEST)
    assert {**said, METADATA_VERSION: NEWEST} == HIGHEST


def test_a_cluster_of_the_first_release_goes_on_as_it_was(old_cluster) -> None:
    assert finalized(old_cluster) == AS_IN_0_1_0


def test_a_release_with_higher_levels_leaves_what_is_not_set_as_it_was(old_cluster, monkeypatch) -> None:
    later = {**SUPPORTED_FEATURES, TRANSACTIONS: (0, 9), "streams.version": (0, 1)}
    monkeypatch.setattr("millstream_cluster.features.SUPPORTED_FEATURES", later)
    assert finalized(old_cluster) == AS_IN_0_1_0


def test_a_level_that_this_release_does_not_know_is_not_told_to_clients(cluster) -> None:
    """A newer release may have set it, before somebody went back to this one."""
    cluster.machine.apply(r.FeatureLevelSet(GROUPS, 9))
    assert finalized(cluster)[GROUPS] == 1


def test_the_same_level_again_changes_nothing(cluster) -> None:
    before = cluster.image.offset
    assert update(cluster, (GROUPS, 1, UP), (GROUPS, 1, UP), (METADATA_VERSION, NEWEST, UP)).error is ErrorCode.NONE
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
        (("streams.version", 1, UP), "does not support this feature"),
        (("kraft.version", 2, UP), "does not support this feature"),
        ((METADATA_VERSION, 1, UP), "knows the levels 7, 25"),
        ((METADATA_VERSION, NEWEST + 1, UP), "knows the levels 7, 25"),
        ((METADATA_VERSION, OLDEST, UP), "never goes down"),
        ((METADATA_VERSION, OLDEST, SAFE), "never goes down"),
        ((METADATA_VERSION, OLDEST, UNSAFE), "never goes down"),
        ((METADATA_VERSION, NEWEST, 9), "upgrade type"),
    ],
)
def test_one_bad_level_spoils_the_request(cluster, bad, said) -> None:
    before = cluster.image.offset
    outcome = update(cluster, (TRANSACTIONS, 0, SAFE), bad)
    assert outcome.error is ErrorCode.INVALID_UPDATE_VERSION
    assert said in outcome.message
    assert cluster.image.offset == before


def test_a_level_is_not_raised_as_a_downgrade(cluster, old_cluster) -> None:
    update(cluster, (TRANSACTIONS, 0, SAFE))
    assert update(cluster, (TRANSACTIONS, 1, SAFE)).error is ErrorCode.INVALID_UPDATE_VERSION
    assert finalized(cluster)[GROUPS] == 1
    assert update(old_cluster, (METADATA_VERSION, NEWEST, SAFE)).error is ErrorCode.INVALID_UPDATE_VERSION


def test_what_kafkas_tool_names_for_a_release_is_taken(old_cluster) -> None:
    """`--release-version 4.0` means the level of Kafka's own metadata quorum as well."""
    release = ((METADATA_VERSION, 25, UP), ("kraft.version", 1, UP), (GROUPS, 1, UP), (TRANSACTIONS, 2, UP))
    assert update(old_cluster, *release, validate_only=True).error is ErrorCode.NONE
    assert finalized(old_cluster) == AS_IN_0_1_0
    assert update(old_cluster, *release).error is ErrorCode.NONE
    assert finalized(old_cluster) == HIGHEST
    assert Image.of(old_cluster.image.records(), old_cluster.image.offset) == old_cluster.image


def raised(cluster, readable):
    outcome = update(cluster, (METADATA_VERSION, NEWEST, UP), readable=readable)
    assert (outcome.error is ErrorCode.NONE) == (cluster.image.metadata_version == NEWEST)
    return outcome


def test_the_level_waits_for_every_node_to_say_that_it_reads_it(old_cluster) -> None:
    old_cluster.register(1)
    old_cluster.register(10_001)
    assert "just become active" in raised(old_cluster, None).message
    assert "Broker 1 has not said what it reads" in raised(old_cluster, {}).message
    assert "Broker 1 reads less" in raised(old_cluster, {1: OLDEST, 10_001: NEWEST}).message
    assert "Coordinator 10001" in raised(old_cluster, {1: NEWEST}).message
    standby = {1: NEWEST, 10_001: NEWEST, 20_001: OLDEST}
    assert "Controller 20001 reads up to 7" in raised(old_cluster, standby).message
    assert raised(old_cluster, {**standby, 20_001: NEWEST}).error is ErrorCode.NONE


def test_a_node_that_is_away_counts_until_it_is_unregistered(old_cluster) -> None:
    old_cluster.register(1)
    assert old_cluster.beat(1, want_fence=True).fenced
    assert "Broker 1" in raised(old_cluster, {}).message


def test_what_followers_read_is_what_they_said_last() -> None:
    observers = Observers(1_000)
    for replica_id in (1, 10_001, 20_001, 40_000):
        observers.fetched(replica_id, 5, 5, 1_000, metadata_version=NEWEST)
    observers.fetched(1, 5, 5, 1_000, metadata_version=0)
    assert observers.levels(999 + LISTENS_MS) is None
    assert observers.levels(1_000 + LISTENS_MS) == {1: OLDEST, 10_001: NEWEST, 20_001: NEWEST}
    assert observers.levels(1_001 + STANDBY_SILENT_MS_MAX) == {1: OLDEST, 10_001: NEWEST}


def registration(features) -> Registration:
    endpoints = (r.Endpoint("P", "h", 9092),)
    return Registration(
        1, "test-cluster", UUID(int=1), endpoints, None, log_dirs=(UUID(int=9),), features=features, previous_epoch=4
    )


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ((), "metadata.version 25"),
        ((r.FeatureRange(METADATA_VERSION, OLDEST, OLDEST),), "metadata.version 25"),
        ((r.FeatureRange(METADATA_VERSION, NEWEST + 1, NEWEST + 2),), "metadata.version 25"),
        ((*SUPPORTED_RANGES[:1], r.FeatureRange(GROUPS, 0, 0)), "group.version 1"),
    ],
    ids=["release 0.1.0", "older", "newer", "another feature"],
)
def test_a_node_that_cannot_read_the_log_is_not_let_in(cluster, features, said) -> None:
    refused = cluster.do(register(cluster.machine, registration(features), session_live=False)).outcome
    assert refused.error is ErrorCode.UNSUPPORTED_VERSION
    assert said in refused.message


def test_a_registration_is_written_as_far_as_the_level_has_room(cluster, old_cluster) -> None:
    for each in (cluster, old_cluster):
        each.do(register(each.machine, registration(SUPPORTED_RANGES), session_live=False))
    old, new = old_cluster.image.brokers[1], cluster.image.brokers[1]
    assert (old.log_dirs, old.features, old.previous_epoch) == ((), (), -1)
    assert (new.log_dirs, new.features, new.previous_epoch) == ((UUID(int=9),), SUPPORTED_RANGES, 4)


def test_a_node_of_the_first_release_registers_at_its_level(old_cluster) -> None:
    registered = old_cluster.do(register(old_cluster.machine, registration(()), session_live=False))
    assert registered.outcome.error is ErrorCode.NONE
