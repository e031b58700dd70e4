from pathlib import Path
from uuid import UUID, uuid4

import pytest

from millstream_log import CorruptFile
from millstream_log.partition_metadata import load_topic_id, store_topic_id

ID = UUID("12345678-9abc-def0-1234-56789abcdef0")


def test_the_file_is_kafkas(tmp_path: Path) -> None:
    store_topic_id(tmp_path, ID)
    assert (tmp_path / "partition.metadata").read_text() == "version: 0\ntopic_id: EjRWeJq83vASNFZ4mrze8A"
    assert load_topic_id(tmp_path) == ID


def test_every_id_comes_back(tmp_path: Path) -> None:
    for topic_id in (UUID(int=0), UUID(int=(1 << 128) - 1), uuid4()):
        store_topic_id(tmp_path, topic_id)
        assert load_topic_id(tmp_path) == topic_id


def test_a_directory_need_not_say(tmp_path: Path) -> None:
    assert load_topic_id(tmp_path) is None


@pytest.mark.parametrize(
    "text", ["", "version: 1\ntopic_id: EjRWeJq83vASNFZ4mrze8A", "version: 0\n", "version: 0\ntopic_id: x"]
)
def test_another_file_is_corrupt(tmp_path: Path, text: str) -> None:
    (tmp_path / "partition.metadata").write_text(text)
    with pytest.raises(CorruptFile):
        load_topic_id(tmp_path)
