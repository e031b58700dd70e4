"""A module that is imported late is run when something of it is asked for."""

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream_runtime.serving.late_imports import late_imports

HANDLERS = """
from {late} import late_imports
with late_imports("late_package"):
    from late_package import rarely, outside
import late_package.at_once
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "late_package"
    folder.mkdir()
    for name in ("rarely", "at_once", "outside"):
        (folder / f"{name}.py").write_text(f"import sys\nsys.late_package_ran.append({name!r})\nname = {name!r}\n")
    (folder / "__init__.py").write_text(HANDLERS.format(late=late_imports.__module__))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "late_package_ran", [], raising=False)
    yield folder
    for name in [each for each in sys.modules if each.startswith("late_package")]:
        del sys.modules[name]


def test_it_runs_when_something_of_it_is_asked_for_and_once(package: Path) -> None:
    finders = [*sys.meta_path]
    made = importlib.import_module("late_package")
    assert sys.meta_path == finders
    assert sys.late_package_ran == ["at_once"]
    assert (made.rarely.name, made.rarely.name) == ("rarely", "rarely")
    assert sys.late_package_ran == ["at_once", "rarely"]


def test_whoever_imports_from_it_elsewhere_gets_it(package: Path) -> None:
    importlib.import_module("late_package")
    (package / "user.py").write_text("from late_package.outside import name\n")
    assert importlib.import_module("late_package.user").name == "outside"
    assert sys.late_package_ran == ["at_once", "outside"]


def test_what_is_not_there_is_missed_at_once(package: Path) -> None:
    (package / "__init__.py").write_text(HANDLERS.format(late=late_imports.__module__).replace("rarely", "nowhere"))
    finders = [*sys.meta_path]
    with pytest.raises(ImportError, match="nowhere"):
        importlib.import_module("late_package")
    assert sys.meta_path == finders


def test_what_could_not_be_run_is_run_again(package: Path) -> None:
    """There were no descriptors left, say: that passes."""
    made = importlib.import_module("late_package")
    working = (package / "rarely.py").read_text()
    (package / "rarely.py").write_text("raise OSError('too many open files')")
    for _ in range(2):
        with pytest.raises(OSError, match="too many"):
            _ = made.rarely.name
    (package / "rarely.py").write_text(f"{working}# another length, so that no byte code is taken for its own")
    assert made.rarely.name == "rarely"


def test_who_comes_while_another_thread_runs_it_waits(package: Path) -> None:
    (package / "rarely.py").write_text("import sys\nsys.late_package_gate()\nname = 'rarely'\n")
    made = importlib.import_module("late_package")
    begun, go_on = threading.Event(), threading.Event()

    def gate() -> None:
        begun.set()
        assert go_on.wait(30)

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(made.rarely.name)) for _ in range(2)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "late_package_gate", gate, raising=False)
        threads[0].start()
        assert begun.wait(30)
        threads[1].start()
        go_on.set()
        for thread in threads:
            thread.join(30)
    assert found == ["rarely", "rarely"]
