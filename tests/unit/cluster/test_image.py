from dataclasses import replace
from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.acls import Acl, AclOperation, AclPattern, AclPermission, AclResource
from millstream_cluster.errors import ImageError
from millstream_cluster.ids import NO_NODE
from millstream_cluster.image import Image
from millstream_cluster.metadata_version import NEWEST, OLDEST

TOPIC = UUID(int=7)


def registered(node_id: int, epoch: int = 1) -> r.NodeRegistered:
    return r.NodeRegistered(node_id, epoch, UUID(int=node_id + 100), (r.Endpoint("PLAINTEXT", "h", 9092),), None)


def created(partition: int, leader: int = 1) -> r.PartitionCreated:
    return r.PartitionCreated(TOPIC, partition, (1,), (1,), leader, 0, 0)


def changed(partition_epoch: int, leader: int, leader_epoch: int) -> r.PartitionChanged:
    return r.PartitionChanged(TOPIC, 0, (1,), (1,), leader, leader_epoch, partition_epoch)


HISTORY: list[r.MetadataRecord] = [
    r.ClusterCreated("c"),
    r.ControllerElected(20_000, 1, "h", 9093),
    registered(1),
    r.NodeUnfenced(1, 1),
    registered(10_001),
    r.TopicCreated("t", TOPIC, internal=False),
    created(0),
    created(1),
    r.ConfigChanged(r.ResourceType.TOPIC, "t", "retention.ms", "5"),
    r.ClientQuotaChanged((r.QuotaEntity(r.QuotaEntityType.USER, None),), "producer_byte_rate", 1e6),
    r.ProducerIdsAllocated(1000),
    r.ShardAssigned(TOPIC, 1, 10_001, 5, -1),
]


def image_of(records: list[r.MetadataRecord]) -> Image:
    image = Image()
    for offset, record in enumerate(records):
        image.apply(record, offset)
    return image


def test_lookups_after_a_history() -> None:
    image = image_of(HISTORY)
    image.check()
    assert image.offset == len(HISTORY) - 1
    assert image.cluster_id == "c"
    assert image.topic("t") is image.topic(TOPIC)
    assert image.partition("t", 1) == image.partition(TOPIC, 1)
    assert image.partition("t", 2) is None
    assert image.partition("t", -1) is None
    assert list(image.brokers) == [1]
    assert list(image.coordinators) == [10_001]
    assert image.coordinators[10_001].fenced
    assert image.config(r.ResourceType.TOPIC, "t") == {"retention.ms": "5"}
    assert image.shard("t", 1) is not None
    assert image.shard("t", 0) is None


def test_a_snapshot_folds_into_the_same_image() -> None:
    image = image_of(HISTORY)
    assert Image.of(image.records(), image.offset) == image
    image.apply(r.TopicDeleted(TOPIC), 99)
    assert Image.of(image.records(), image.offset) == image


MOVING = r.PartitionChanged(
    TOPIC,
    0,
    (1, 2, 3),
    (1,),
    1,
    0,
    1,
    adding_replicas=(3,),
    removing_replicas=(1,),
    eligible_leader_replicas=(2,),
    last_known_elr=(3,),
    leader_recovery_state=r.LeaderRecoveryState.RECOVERING,
    directories=(UUID(int=1), UUID(int=2), UUID(int=3)),
)


def test_a_snapshot_says_first_what_may_be_in_it() -> None:
    """Who reads it has to know that before the first record that needs it."""
    image = image_of([*HISTORY, r.MetadataVersionSet(NEWEST), MOVING])
    image.check()
    assert next(image.records()) == r.MetadataVersionSet(NEWEST)
    assert Image.of(image.records(), image.offset) == image
    assert image.metadata_version is NEWEST
    assert image.feature_levels == {}


ACL = Acl(AclResource.TOPIC, AclPattern.LITERAL, "t", "User:a", "*", AclOperation.READ, AclPermission.ALLOW)


def test_acls_come_and_go_and_outlive_snapshots() -> None:
    image = image_of([*HISTORY, r.MetadataVersionSet(NEWEST), r.AclAdded.of(UUID(int=1), ACL)])
    image.apply(r.AclAdded.of(UUID(int=2), replace(ACL, name="u")), 98)
    assert set(image.acls.ids) == {ACL, replace(ACL, name="u")}
    assert Image.of(image.records(), image.offset) == image
    image.apply(r.AclRemoved(UUID(int=1)), 99)
    assert image.acls.since(1) == [(replace(ACL, name="u"), True), (ACL, False)]
    assert Image.of(image.records(), image.offset) == image
    for unfit in (r.AclRemoved(UUID(int=1)), r.AclAdded.of(UUID(int=3), replace(ACL, name="u"))):
        with pytest.raises(ImageError):
            image.apply(unfit, 100)


def test_a_change_keeps_what_it_does_not_name() -> None:
    partition = image_of([*HISTORY, r.MetadataVersionSet(NEWEST), MOVING]).partition("t", 0)
    assert partition is not None
    assert partition.changed(leader=2) == replace(MOVING, leader=2, partition_epoch=2)


def test_since_when_a_node_is_away_outlives_snapshots_and_registrations_until_it_is_back() -> None:
    image = image_of([*HISTORY, r.MetadataVersionSet(NEWEST), r.NodeFenced(10_001, 1, 77)])
    coordinator = image.coordinators[10_001]
    assert (coordinator.away_since_ms, coordinator.fenced_offset) == (77, 4), "it was fenced before"
    assert Image.of(image.records(), image.offset) == image
    image.apply(registered(10_001, epoch=30), 30)
    assert image.coordinators[10_001].away_since_ms == 77
    assert image.coordinators[10_001].fenced_offset == 30
    image.apply(r.NodeUnfenced(10_001, 30), 31)
    image.apply(r.NodeFenced(10_001, 30), 32)
    assert image.coordinators[10_001].away_since_ms == 0


def test_since_when_a_directory_cannot_be_used_outlives_snapshots_and_registrations_until_it_is_back() -> None:
    a, b = UUID(int=20), UUID(int=21)
    image = image_of([*HISTORY, r.MetadataVersionSet(NEWEST)])
    image.apply(replace(registered(1, epoch=30), log_dirs=(a, b)), 30)
    image.apply(r.NodeLogDirsChanged(1, 30, (b,), (r.FailedLogDir(a, 77),)), 31)
    assert (image.brokers[1].log_dirs, image.brokers[1].failed_log_dirs) == ((b,), (r.FailedLogDir(a, 77),))
    assert Image.of(image.records(), image.offset) == image
    image.apply(replace(registered(1, epoch=32), log_dirs=(b,)), 32)
    assert image.brokers[1].failed_log_dirs == (r.FailedLogDir(a, 77),)
    assert Image.of(image.records(), image.offset) == image
    image.apply(replace(registered(1, epoch=33), log_dirs=(a, b)), 33)
    assert image.brokers[1].failed_log_dirs == ()


def test_a_resigned_controller_stays_known_until_the_next_is_elected() -> None:
    image = image_of([*HISTORY, r.ControllerResigned(20_000, 1)])
    assert image.controller_resigned
    assert Image.of(image.records(), image.offset) == image
    image.apply(r.ControllerElected(20_001, 2, "h", 9093), 99)
    assert not image.controller_resigned


def test_a_deleted_topic_takes_its_configs_and_shards_along() -> None:
    image = image_of([*HISTORY, r.TopicDeleted(TOPIC)])
    image.check()
    assert image.topic("t") is None
    assert image.shards == {}
    assert image.config(r.ResourceType.TOPIC, "t") == {}


def test_a_config_taken_back_leaves_nothing_behind() -> None:
    image = image_of([*HISTORY, r.ConfigChanged(r.ResourceType.TOPIC, "t", "retention.ms", None)])
    assert image.config_names(r.ResourceType.TOPIC) == []


def test_a_topic_value_sees_later_changes_of_its_partitions() -> None:
    image = image_of(HISTORY)
    topic = image.topic("t")
    assert topic is not None
    image.apply(changed(1, NO_NODE, 1), 50)
    assert not topic.partitions[0].online


@pytest.mark.parametrize(
    "record",
    [
        r.ClusterCreated("other"),
        r.ControllerElected(20_001, 1, "h", 1),
        r.ControllerResigned(20_000, 2),
        r.NodeFenced(1, 9),
        r.NodeUnfenced(5, 1),
        r.TopicCreated("t", UUID(int=8), internal=False),
        r.TopicCreated("u", TOPIC, internal=False),
        r.TopicDeleted(UUID(int=8)),
        created(3),
        changed(5, 1, 1),
        r.ProducerIdsAllocated(1000),
        r.ShardAssigned(TOPIC, 9, 10_001, 5, 0),
        r.MetadataVersionSet(OLDEST),
    ],
)
def test_a_record_that_does_not_fit_is_refused(record: r.MetadataRecord) -> None:
    with pytest.raises(ImageError):
        image_of([*HISTORY, record])


@pytest.mark.parametrize(
    "record",
    [
        r.NodeFenced(1, 1),
        r.NodeUnregistered(1, 1),
        changed(1, 2, 1),
        r.PartitionChanged(TOPIC, 0, (1,), (1, 2), 1, 0, 1),
        r.PartitionChanged(TOPIC, 0, (), (), -1, 0, 1),
        r.ShardAssigned(TOPIC, 0, 1, 5, 0),
        replace(MOVING, adding_replicas=(4,)),
        replace(MOVING, removing_replicas=(4,)),
        replace(MOVING, eligible_leader_replicas=(1,)),
        replace(MOVING, eligible_leader_replicas=(4,)),
        replace(MOVING, directories=(UUID(int=1),)),
        replace(MOVING, isr=(1, 2), eligible_leader_replicas=()),
        replace(MOVING, last_known_elr=(1,)),
        replace(MOVING, last_known_elr=(2,)),
        replace(MOVING, last_known_elr=(4,)),
        replace(MOVING, isr=(), leader=NO_NODE, last_known_elr=(1, 3)),
    ],
)
def test_check_finds_a_broken_invariant(record: r.MetadataRecord) -> None:
    image = image_of([*HISTORY, record])
    with pytest.raises(ImageError):
        image.check()
