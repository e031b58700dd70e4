import os
from pathlib import Path
from uuid import UUID

import pytest

from millstream_log import DataDir, LogConfig, TopicPartition, UnusableDirectory
from millstream_log.disk import DISK, remove_tree

CONFIG = LogConfig()
KEY = TopicPartition("some-topic", 3)
OTHER = TopicPartition("other", 0)
TOPIC_ID, OTHER_ID = UUID(int=7), UUID(int=8)


def open_dir(path: Path, cluster_id: str | None = "cluster", node_id: int = 1) -> DataDir:
    return DataDir(path, node_id=node_id, cluster_id=cluster_id)


def test_a_clean_close_is_known_at_the_next_start(tmp_path: Path, make) -> None:
    data = open_dir(tmp_path / "deep" / "data")
    log = data.open_log(KEY, TOPIC_ID, CONFIG, now_ms=0)
    log.append(*make(3), leader_epoch=0, now_ms=0)
    directory_id = data.directory_id
    data.close({KEY: 2}, broker_epoch=9)

    data = open_dir(data.path)
    assert data.was_clean
    assert data.directory_id == directory_id
    assert data.partitions() == {KEY}
    assert data.topic_id(KEY) == TOPIC_ID
    log = data.open_log(KEY, TOPIC_ID, CONFIG, now_ms=0)
    assert (log.log_end_offset, log.recovery_point, data.high_watermark(KEY)) == (3, 3, 2)
    data.abandon()

    assert not open_dir(data.path).was_clean


@pytest.mark.parametrize(
    ("proof", "epoch"),
    [(b'{"version":0,"brokerEpoch":71}', 71), (b"", -1), (b"{}", -1), (b"[7]", -1), (b'{"brokerEpoch":"7"}', -1)],
)
def test_a_clean_close_proves_which_life_it_ended_once(tmp_path: Path, proof: bytes, epoch: int) -> None:
    (tmp_path / ".kafka_cleanshutdown").write_bytes(proof)
    data = open_dir(tmp_path)
    assert (data.was_clean, data.clean_broker_epoch) == (True, epoch)
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    data.abandon()
    assert open_dir(tmp_path).clean_broker_epoch == -1
    again = open_dir(tmp_path / "other")
    again.close(broker_epoch=72)
    assert open_dir(tmp_path / "other").clean_broker_epoch == 72


def test_a_partition_that_was_not_opened_is_not_called_clean(tmp_path: Path) -> None:
    data = open_dir(tmp_path)
    data.open_log(KEY, TOPIC_ID, CONFIG, now_ms=0)
    data.open_log(OTHER, OTHER_ID, CONFIG, now_ms=0)
    data.abandon()
    data = open_dir(tmp_path)
    data.open_log(KEY, TOPIC_ID, CONFIG, now_ms=0)
    data.close()
    assert not open_dir(tmp_path).was_clean


@pytest.mark.parametrize(
    ("identity", "complaint"),
    [({"cluster_id": "another"}, "belongs to cluster cluster"), ({"node_id": 2}, "belongs to node 1")],
)
def test_a_directory_of_others_is_refused_untouched(tmp_path: Path, identity: dict, complaint: str) -> None:
    open_dir(tmp_path).close()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(UnusableDirectory, match=complaint):
        open_dir(tmp_path, **identity)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_directory_is_bound_to_its_cluster_once(tmp_path: Path) -> None:
    data = open_dir(tmp_path, cluster_id=None)
    assert data.cluster_id is None
    data.set_cluster_id("first")
    with pytest.raises(UnusableDirectory):
        data.set_cluster_id("second")
    data.close()
    assert open_dir(tmp_path, cluster_id=None).cluster_id == "first"


def test_a_new_directory_says_whose_it_is_once_it_knows(tmp_path: Path) -> None:
    """Its id is told to nobody before, so one that is emptied by a crash in between is simply new."""
    data = open_dir(tmp_path, cluster_id=None)
    assert not (tmp_path / "meta.properties").exists()
    data.set_cluster_id("first")
    told = data.directory_id
    data.abandon()
    assert open_dir(tmp_path, cluster_id="first").directory_id == told


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    data = open_dir(tmp_path)
    with pytest.raises(UnusableDirectory, match="in use"):
        open_dir(tmp_path)
    data.abandon()
    open_dir(tmp_path)


def test_a_place_that_cannot_be_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnusableDirectory):
        open_dir(tmp_path / "file")


def test_a_topic_made_anew_starts_empty_and_the_old_one_is_set_aside(tmp_path: Path, make) -> None:
    data = open_dir(tmp_path)
    data.open_log(KEY, TOPIC_ID, CONFIG, now_ms=0).append(*make(3), leader_epoch=0, now_ms=0)
    data.close({KEY: 3})
    data = open_dir(tmp_path)
    log = data.open_log(KEY, OTHER_ID, CONFIG, now_ms=0)
    assert (log.log_end_offset, data.high_watermark(KEY)) == (0, 0)
    assert data.partitions() == {KEY}
    assert data.topic_id(KEY) == OTHER_ID
    (stray,) = tmp_path.glob("some-topic-3.*-stray")
    assert (stray / f"{0:020d}.log").stat().st_size > 0


def test_a_deleted_partition_is_gone_and_its_name_is_free(tmp_path: Path, make) -> None:
    data = open_dir(tmp_path)
    data.open_log(KEY, TOPIC_ID, CONFIG, now_ms=0).append(*make(3), leader_epoch=0, now_ms=0)
    remove_tree(DISK, data.doom_log(KEY))
    assert data.partitions() == set()
    assert data.open_log(KEY, OTHER_ID, CONFIG, now_ms=0).log_end_offset == 0


def test_a_partition_made_anew_does_not_begin_where_the_old_one_did(tmp_path: Path, make) -> None:
    data = open_dir(tmp_path)
    log = data.open_log(KEY, TOPIC_ID, CONFIG, now_ms=0)
    log.append(*make(9), leader_epoch=0, now_ms=0)
    log.flush()
    log.advance_start(5)
    data.checkpoint({KEY: 9})
    remove_tree(DISK, data.doom_log(KEY))
    data.open_log(KEY, OTHER_ID, CONFIG, now_ms=0).append(*make(7), leader_epoch=0, now_ms=0)
    data.abandon()
    data = open_dir(tmp_path)
    log = data.open_log(KEY, OTHER_ID, CONFIG, now_ms=0)
    assert (log.log_start_offset, log.recovery_point, log.log_end_offset, data.high_watermark(KEY)) == (0, 0, 7, 0)


@pytest.mark.parametrize("was_cleaned", [True, False])
def test_only_a_cleaned_log_may_have_gaps(tmp_path: Path, was_cleaned: bool, make) -> None:
    data = open_dir(tmp_path)
    config = LogConfig(segment_bytes=100)
    log = data.open_log(KEY, TOPIC_ID, config, now_ms=0)
    for _ in range(3):
        log.append(*make(1), leader_epoch=0, now_ms=0)
    data.abandon()
    os.truncate(log.segments[1].log_path, 0)
    if was_cleaned:
        (tmp_path / "cleaner-offset-checkpoint").write_text(f"0\n1\n{KEY.topic} {KEY.partition} 3\n")
    assert open_dir(tmp_path).open_log(KEY, TOPIC_ID, config, now_ms=0).log_end_offset == (3 if was_cleaned else 1)


def test_an_interrupted_deletion_is_finished(tmp_path: Path) -> None:
    open_dir(tmp_path).close()
    (tmp_path / "gone-0.0123456789abcdef0123456789abcdef-delete").mkdir()
    data = open_dir(tmp_path)
    assert not list(tmp_path.glob("*-delete"))
    assert data.partitions() == set()


def test_the_longest_topic_names_fit_also_while_they_go(tmp_path: Path) -> None:
    data = open_dir(tmp_path)
    key = TopicPartition("t" * 249, 12)
    data.open_log(key, TOPIC_ID, CONFIG, now_ms=0)
    data.set_aside(key)
    assert data.partitions() == set()


def test_a_disk_that_fails_one_log_closes_the_others_and_claims_nothing(tmp_path: Path, make) -> None:
    data = open_dir(tmp_path)
    bad = data.open_log(KEY, TOPIC_ID, CONFIG, now_ms=0)
    good = data.open_log(OTHER, OTHER_ID, CONFIG, now_ms=0)
    for log in (bad, good):
        log.append(*make(3), leader_epoch=0, now_ms=0)
    bad.fail(OSError("the disk forgot"))
    data.close()
    data = open_dir(tmp_path)
    assert not data.was_clean
    assert data.open_log(OTHER, OTHER_ID, CONFIG, now_ms=0).recovery_point == 3
    assert data.open_log(KEY, TOPIC_ID, CONFIG, now_ms=0).log_end_offset == 3


def test_directories_of_one_node_have_an_incarnation_in_common(tmp_path: Path) -> None:
    first, second = open_dir(tmp_path / "a"), open_dir(tmp_path / "b", cluster_id=None)
    assert first.incarnation_id == first.directory_id != second.directory_id
    second.join(first.incarnation_id)
    second.set_cluster_id("cluster")
    for each in (first, second):
        each.close()
    again = open_dir(tmp_path / "b")
    assert (again.incarnation_id, again.directory_id) == (first.directory_id, second.directory_id)
    assert not again.is_new
    again.join(UUID(int=7))
    again.close()
    assert open_dir(tmp_path / "b").incarnation_id == UUID(int=7)
    assert "incarnation" not in (tmp_path / "a" / "meta.properties").read_text(), "a directory alone is as Kafka's"
