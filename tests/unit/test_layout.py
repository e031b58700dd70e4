"""The house rules that a linter cannot say."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
VAGUE_FOLDERS = {"utils", "common", "helpers", "manager", "misc"}


def sources() -> Iterator[Path]:
    for part in ("libs", "services", "operator", "cli", "simulation", "spark-on-k8s", "bench"):
        yield from (path for path in (ROOT / part).glob("**/*.py") if ".venv" not in path.parts)


def place(path: Path, line: int = 0) -> str:
    return f"{path.relative_to(ROOT)}:{line}" if line else str(path.relative_to(ROOT))


def test_there_is_something_to_check() -> None:
    assert sum(1 for _ in sources()) > 50


def test_operator_folder_never_becomes_a_module() -> None:
    """A module there shadows the standard library's `operator` for everything run from the root."""
    folder = ROOT / "operator"
    strays = [*folder.glob("*.py"), *folder.glob("**/test_*.py"), *folder.glob("**/conftest.py")]
    assert strays == []


def test_files_and_functions_fit_on_a_screen() -> None:
    too_long = []
    for path in sources():
        text = path.read_text()
        if text.count("\n") > FILE_LINES_MAX:
            too_long.append(place(path))
        for node in ast.walk(ast.parse(text)):
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node
            if function and (function.end_lineno or 0) - function.lineno >= FUNCTION_LINES_MAX:
                too_long.append(f"{place(path, function.lineno)} {function.name}")
    assert too_long == []


def test_every_module_says_what_role_it_plays() -> None:
    silent = [
        place(path)
        for path in sources()
        if path.name != "__init__.py" and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert silent == []


def test_what_a_node_loads_declares_its_classes_late() -> None:
    """Methods that `dataclasses` writes cost a start more than all else; compiled modules have theirs from mypyc."""
    compiled = {ROOT / name for name in (ROOT / "compiled" / "modules").read_text().split()}
    late = ROOT / "libs/wire/src/millstream_wire/late_dataclass.py"
    packages = [f"libs/{name}" for name in ("wire", "log", "cluster", "security", "runtime")]
    packages += [f"services/{name}" for name in ("broker", "controller", "coordinator")]
    differing = [
        place(path, node.lineno)
        for path in sources()
        if "/".join(path.relative_to(ROOT).parts[:2]) in packages and path != late
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and "dataclass" in {name.name for name in node.names}
        if (node.module == "dataclasses") != (path in compiled)
    ]
    assert differing == []


def test_cores_never_await() -> None:
    waiting = [
        place(path, node.lineno)
        for path in sources()
        if "core" in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.AsyncFunctionDef | ast.Await)
    ]
    assert waiting == []


def test_folders_are_nouns_of_the_domain() -> None:
    assert [place(path) for path in sources() if VAGUE_FOLDERS & {*path.parts, path.stem}] == []


def test_every_api_file_is_in_its_services_handlers() -> None:
    forgotten = []
    for service in (ROOT / "services").iterdir():
        for index in service.glob("src/*/api/__init__.py"):
            table = index.read_text()
            assert "HANDLERS" in table, place(index)
            forgotten += [place(file) for file in index.parent.glob("[a-z]*.py") if file.stem not in table]
    assert forgotten == []


def test_the_repository_speaks_of_the_project_alone() -> None:
    """No path of one machine, no address of a package registry, in anything that is tracked."""
    words = (
        "/work" + "/",
        "/root" + "/",
        "pypi" + ".org",
        "files.python" + "hosted",
        "repo1.maven" + ".org",
        "repo.maven." + "apache",
        "proxy.golang" + ".org",
        "registry.npmjs" + ".org",
    )
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        if path.name == "Dockerfile":
            text = text.replace("target=/root" + "/.cache", "")  # the image's own root, not a machine's
        found += [f"{name}: {word}" for word in words if word in text]
    assert found == []
