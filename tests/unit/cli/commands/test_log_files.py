"""What `log dump` says of the files that our own log writes, and of damaged ones."""

import json
from pathlib import Path

import pytest

from millstream.main import main
from millstream_log import Log, LogConfig
from millstream_wire.records import Record, encode_batch, parse_header


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    log = Log.open(directory, LogConfig(), now_ms=0, log_start_offset=0, recovery_point=0, clean=True)
    for n in range(2):
        records = [Record(0, 1769860800000 + n, f"k{n}".encode(), b"v", (("h", b"x"),)), Record(0, 5, None, None)]
        batch = bytearray(encode_batch(records, producer_id=7, producer_epoch=0, base_sequence=2 * n))
        log.append(batch, parse_header(batch), leader_epoch=3, now_ms=0)
    log.close()
    return directory


def dump(capsys: pytest.CaptureFixture[str], path: Path, *arguments: str) -> tuple[int, str]:
    code = main(["log", "dump", str(path), *arguments])
    return code, capsys.readouterr().out


def test_batches(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = dump(capsys, partition / f"{0:020d}.log")
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines()[2:]] == [["0", "1"], ["2", "3"]]


def test_records(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = dump(capsys, partition / f"{0:020d}.log", "--deep")
    lines = [line.split() for line in out.splitlines()[2:]]
    assert lines[0] == ["0", "2026-01-31T12:00:00.000Z", "k0", "v", "h=x"]
    assert lines[3] == ["3", "1970-01-01T00:00:00.005Z", "-", "-"]


def test_a_directory_as_json_lines(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = dump(capsys, partition.parent, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {row["kind"] for row in rows} >= {"batches", "producers", "leader epochs"}
    (producer,) = [row for row in rows if row["kind"] == "producers"]
    assert (producer["producer_id"], producer["last_sequence"], producer["last_offset"]) == (7, 3, 3)
    (epoch,) = [row for row in rows if row["kind"] == "leader epochs"]
    assert (epoch["epoch"], epoch["start_offset"]) == (3, 0)


def test_damage_is_shown_and_the_exit_code_says_so(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = partition / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2 - 1] ^= 1
    path.write_bytes(bytes(data) + b"torn")
    for arguments in ([], ["--deep"], ["--json"]):
        code, out = dump(capsys, path, *arguments)
        assert code == 1
        assert "checksum" in out
        assert "4 bytes where a batch header has 61" in out


def test_what_is_not_there_or_not_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(tmp_path / "gone")]) == 1
    assert main(["log", "dump", str(tmp_path)]) == 1
    complaints = capsys.readouterr().err.splitlines()
    assert complaints == [
        f"millstream: {tmp_path}/gone: No such file or directory",
        f"millstream: {tmp_path}: no log, index or snapshot",
    ]
