from pathlib import Path
from uuid import UUID

import pytest
from millstream_broker.shell.data_dir import DataDir, is_partition_dir
from millstream_runtime.service import ServiceFailed

ID = UUID(int=7)


def test_a_new_directory_says_whose_it_is_and_keeps_its_id(tmp_path: Path) -> None:
    directory = DataDir.open(tmp_path / "data", node_id=3, new_directory_id=ID)
    assert directory.meta.directory_id == ID
    assert not directory.was_clean
    directory.bind_cluster("c1")
    directory.mark_clean(5)
    directory.close()
    again = DataDir.open(tmp_path / "data", node_id=3, new_directory_id=UUID(int=8))
    assert (again.meta.directory_id, again.meta.cluster_id, again.was_clean) == (ID, "c1", True)
    again.close()
    third = DataDir.open(tmp_path / "data", node_id=3, new_directory_id=UUID(int=8))
    assert not third.was_clean, "the marker speaks for one shutdown only"
    third.close()


def test_another_nodes_or_clusters_data_is_refused_in_one_line(tmp_path: Path) -> None:
    directory = DataDir.open(tmp_path, node_id=3, new_directory_id=ID)
    directory.bind_cluster("c1")
    directory.bind_cluster("c1")
    with pytest.raises(ServiceFailed, match="belongs to cluster c1"):
        directory.bind_cluster("c2")
    directory.close()
    with pytest.raises(ServiceFailed, match="belongs to node 3, this is node 4"):
        DataDir.open(tmp_path, node_id=4, new_directory_id=ID)


def test_two_processes_cannot_have_it_open(tmp_path: Path) -> None:
    directory = DataDir.open(tmp_path, node_id=3, new_directory_id=ID)
    with pytest.raises(ServiceFailed, match="in use by another process"):
        DataDir.open(tmp_path, node_id=3, new_directory_id=ID)
    directory.close()
    DataDir.open(tmp_path, node_id=3, new_directory_id=ID).close()


def test_deleted_and_stray_partitions_free_their_name(tmp_path: Path) -> None:
    directory = DataDir.open(tmp_path, node_id=3, new_directory_id=ID)
    for name in ("a-b-0", "a-b-1", "not a partition"):
        (tmp_path / name).mkdir()
    first, second = directory.partition_dirs()
    directory.rename_for_deletion(first, ID)
    stray = directory.set_aside(second, ID)
    assert directory.partition_dirs() == []
    assert directory.remove_deleted() == 1
    assert stray.exists()
    directory.close()


@pytest.mark.parametrize(
    ("name", "expected"), [("t-0", True), ("a-b-12", True), ("t-", False), ("-0", False), ("t-0.ab-stray", False)]
)
def test_partition_directory_names(name: str, expected: bool) -> None:
    assert is_partition_dir(name) is expected
