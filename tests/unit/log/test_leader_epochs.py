from pathlib import Path

import pytest

from millstream_log import CorruptFile
from millstream_log.leader_epochs import LeaderEpochs


def epochs(directory: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    made = LeaderEpochs(directory)
    for epoch, start in entries:
        made.assign(epoch, start)
    return made


def test_an_epoch_that_wrote_nothing_leaves_no_trace(tmp_path: Path) -> None:
    assert epochs(tmp_path, (1, 0), (2, 10), (3, 10), (3, 20), (2, 30)).entries == ((1, 0), (3, 10))


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(-1, (-1, -1)), (0, (0, 5)), (1, (1, 10)), (2, (1, 10)), (4, (4, 20)), (5, (4, 20)), (6, (6, 33)), (7, (-1, -1))],
)
def test_an_epoch_ends_where_the_next_begins(tmp_path: Path, asked: int, answer: tuple[int, int]) -> None:
    assert epochs(tmp_path, (1, 5), (4, 10), (6, 20)).end_of(asked, log_end_offset=33) == answer


def test_records_know_their_epoch(tmp_path: Path) -> None:
    made = epochs(tmp_path, (1, 5), (4, 10))
    assert [made.epoch_of(offset) for offset in (4, 5, 9, 10, 99)] == [-1, 1, 1, 4, 4]


def test_truncation_at_both_ends(tmp_path: Path) -> None:
    made = epochs(tmp_path, (1, 5), (4, 10), (6, 20))
    made.truncate_end(20)
    assert made.entries == ((1, 5), (4, 10))
    made.truncate_start(7)
    assert made.entries == ((1, 7), (4, 10))
    made.truncate_start(15)
    assert made.entries == ((4, 15),)


def test_the_file_is_kafkas(tmp_path: Path) -> None:
    epochs(tmp_path, (1, 5), (4, 10)).store()
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n2\n1 5\n4 10\n"
    loaded = LeaderEpochs(tmp_path)
    loaded.load()
    assert loaded.entries == ((1, 5), (4, 10))


@pytest.mark.parametrize("text", ["1\n0\n", "0\n2\n1 5\n", "0\n1\n1 x\n", "0\n2\n4 5\n1 6\n", "\x00\x00", "0\nmany\n"])
def test_another_file_is_corrupt(tmp_path: Path, text: str) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text(text)
    with pytest.raises(CorruptFile):
        LeaderEpochs(tmp_path).load()


def test_no_epoch_has_an_end_where_none_is_known(tmp_path: Path) -> None:
    for asked in (-2, -1, 0, 7):
        assert epochs(tmp_path).end_of(asked, log_end_offset=33) == (-1, -1)


def test_a_number_that_no_epoch_can_be_makes_the_file_corrupt(tmp_path: Path) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text(f"0\n1\n{1 << 63} 0\n")
    with pytest.raises(CorruptFile, match="larger than any offset"):
        LeaderEpochs(tmp_path).load()
