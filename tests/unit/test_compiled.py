"""An extension that is older than its source is never used."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from millstream_runtime.builds import refuse_stale
from millstream_runtime.service import ServiceFailed

ROOT = Path(__file__).parents[2]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source with an extension beside it, made after it."""
    source = tmp_path / "walk.py"
    source.write_text("")
    extension(source).write_bytes(b"")
    return source


def extension(source: Path) -> Path:
    return source.with_name(f"{source.stem}.cpython-311-x86_64-linux-gnu.so")


def test_tests_remove_what_is_older_than_its_source_and_nothing_else(source: Path) -> None:
    build = runpy.run_path(str(ROOT / "compiled" / "build.py"))
    build["remove_stale"]([source])
    assert extension(source).exists()
    os.utime(extension(source), (0, 0))
    build["remove_stale"]([source])
    assert not extension(source).exists()
    assert source.exists()


def test_a_process_refuses_to_run_an_extension_older_than_its_source(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = type(sys)("millstream_wire.records.older")
    module.__file__ = str(extension(source))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    refuse_stale()
    os.utime(extension(source), (0, 0))
    with pytest.raises(ServiceFailed, match="newer"):
        refuse_stale()


def test_without_a_compiler_it_says_so_and_plain_python_stays(tmp_path: Path) -> None:
    package = tmp_path / "millstream_wire" / "records"
    package.mkdir(parents=True)
    (package / "walk.py").write_text("")
    extension(package / "walk.py").write_bytes(b"")
    command = [sys.executable, str(ROOT / "compiled" / "build.py"), str(tmp_path)]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=True)
    assert "plain Python, because there is no C compiler" in done.stdout
    assert sorted(path.name for path in package.iterdir()) == ["walk.py"]


def test_what_is_listed_exists() -> None:
    build = runpy.run_path(str(ROOT / "compiled" / "build.py"))
    assert all(source.is_file() for source in build["sources"]())
