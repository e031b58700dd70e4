"""An extension that is older than its source is never used."""

import ast
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
    folder = tmp_path / "src" / "millstream_wire" / "records"
    folder.mkdir(parents=True)
    source = folder / "walk.py"
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


def test_all_go_when_one_is_older_than_its_source(source: Path) -> None:
    build = runpy.run_path(str(ROOT / "compiled" / "build.py"))
    other = source.with_name("batch.py")
    other.write_text("")
    library = source.with_name("compiled__mypyc.cpython-311-x86_64-linux-gnu.so")
    for made in (extension(other), library):
        made.write_bytes(b"")
    os.utime(extension(other), (0, 0))
    build["remove_stale"]([source, other])
    assert sorted(path.name for path in source.parent.iterdir()) == ["batch.py", "walk.py"]


def test_no_name_of_an_error_has_two_types_in_one_function() -> None:
    """Compiled, a name has the type of its first use: the second error would become a TypeError, which the checker does not see."""
    for listed in (ROOT / "compiled" / "modules").read_text().split():
        for function in ast.walk(ast.parse((ROOT / listed).read_text())):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                handlers = [node for node in ast.walk(function) if isinstance(node, ast.ExceptHandler) and node.name]
                typed = {(handler.name, ast.unparse(handler.type)) for handler in handlers if handler.type}
                assert len(typed) == len({name for name, _ in typed}), f"{listed}: {function.name}"


def test_a_process_refuses_to_run_an_extension_older_than_its_source(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = type(sys)("millstream_wire.records.older")
    module.__file__ = str(extension(source))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    refuse_stale()
    os.utime(extension(source), (0, 0))
    with pytest.raises(ServiceFailed, match="newer"):
        refuse_stale()
    installed = tmp_path / "site-packages"
    (tmp_path / "src").rename(installed)
    module.__file__ = str(extension(installed / "millstream_wire" / "records" / "walk.py"))
    refuse_stale()  # installers write files in any order


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
