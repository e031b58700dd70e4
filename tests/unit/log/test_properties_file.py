from pathlib import Path

import pytest

from millstream_log import CorruptFile
from millstream_log.properties_file import load_properties, store_properties


def test_what_was_stored_is_loaded(tmp_path: Path) -> None:
    properties = {"cluster.id": "a=b", "node.id": "1"}
    store_properties(tmp_path / "meta.properties", properties)
    assert load_properties(tmp_path / "meta.properties") == properties
    assert load_properties(tmp_path / "missing") is None


def test_javas_comments_and_spaces_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("#\n#Mon Jan 01 00:00:00 UTC 2024\n\n! note\n version = 1 \n")
    assert load_properties(tmp_path / "x") == {"version": "1"}


@pytest.mark.parametrize("content", [b"nonsense\n", b"\xff\xfe=\x00"])
def test_another_file_is_corrupt(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(CorruptFile):
        load_properties(tmp_path / "x")
