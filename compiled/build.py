"""Make extension modules of the files that `modules` lists, or remove them: `compiled/build.py [--remove | --remove-stale] [DIR]`.

With DIR, the packages lie there (an image's) and not in the workspace. Without a compiler this says so and does nothing:
plain Python always works. The modules are made together, so that they call each other without going through Python: beside each
source lies an extension that holds nothing, and beside the first one the library with all of their code. So they
come and go together too: code that was made against another's may not meet that other one as plain Python.
"""

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKSPACE = HERE.parent
BUILD_TIMEOUT_S = 1800
LIBRARY = "compiled"
SETUP = """
import sys
from mypyc.build import mypycify
from setuptools import setup
library, *sources = sys.argv[1:]
made = mypycify(["--ignore-missing-imports", *sources], group_name=library, opt_level="2")
setup(name="millstream-compiled", ext_modules=made, script_args=["-q", "build_ext", "--inplace"])
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="compiled/build.py")
    parser.add_argument("--remove", action="store_true", help="remove all extensions and make none")
    parser.add_argument("--remove-stale", action="store_true", help="remove extensions older than their source")
    parser.add_argument("directory", nargs="?", type=Path, help="where the packages are")
    options = parser.parse_args()
    found = sources(options.directory)
    if options.remove_stale:
        remove_stale(found)
        return 0
    remove(found)
    if options.remove or not found:
        return 0
    missing = _missing()
    if missing:
        print(f"compiled: plain Python, because there is {missing}")
    elif not _compile(found, options.directory):
        remove(found)
    return 0


def sources(directory: Path | None = None) -> list[Path]:
    paths = [Path(line) for line in (HERE / "modules").read_text().split()]
    if directory is None:
        return [WORKSPACE / path for path in paths]
    return [found for path in paths if (found := directory / _below_src(path)).exists()]


def extensions(source: Path) -> list[Path]:
    return [*source.parent.glob(f"{source.stem}.*.so"), *source.parent.glob("*__mypyc.*.so")]


def remove(found: list[Path]) -> None:
    """Also of what was listed once and lies in the same directories."""
    for directory in {source.parent for source in found}:
        for extension in directory.glob("*.so"):
            extension.unlink(missing_ok=True)


def remove_stale(found: list[Path]) -> None:
    for source in found:
        if any(extension.stat().st_mtime < source.stat().st_mtime for extension in extensions(source)):
            remove(found)


def _missing() -> str | None:
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"no C compiler ({compiler})"
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "no Python.h"
    return None


def _compile(found: list[Path], directory: Path | None) -> bool:
    """Compile in a directory apart, then put the results beside the sources; say why if it does not work."""
    roots = {directory} if directory is not None else _workspace_roots()
    places = {source: source.relative_to(directory or _root(source)) for source in found}
    library = ".".join([*places[found[0]].parts[:1], LIBRARY])
    with tempfile.TemporaryDirectory(prefix="millstream-compiled-") as name:
        scratch = Path(name)
        for place in places.values():
            (scratch / place).parent.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {"MYPYPATH": os.pathsep.join(sorted(map(str, roots)))}
        command = [sys.executable, "-c", SETUP, library, *map(str, found)]
        result = subprocess.run(
            command, cwd=scratch, env=environment, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, check=False
        )
        if result.returncode != 0:
            print(f"compiled: all stay plain Python:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
            return False
        for source, place in places.items():
            for made in (scratch / place).parent.glob(f"{place.stem}.*.so"):
                _put(made, source.parent)
        package = places[found[0]].parts[0]
        for made in (scratch / package).glob("*__mypyc.*.so"):
            _put(made, next(parent for parent in found[0].parents if parent.name == package))
    print(f"compiled: {' '.join(source.stem for source in found)}", flush=True)
    return True


def _put(made: Path, directory: Path) -> None:
    """All of it at once: somebody may be importing it."""
    shutil.copy(made, directory / f"{made.name}.tmp")
    os.replace(directory / f"{made.name}.tmp", directory / made.name)


def _workspace_roots() -> set[Path]:
    return set(WORKSPACE.glob("*/*/src")) | set(WORKSPACE.glob("*/src"))


def _root(source: Path) -> Path:
    return next(parent for parent in source.parents if parent.name == "src")


def _below_src(path: Path) -> Path:
    return path.relative_to(_root(path))


if __name__ == "__main__":
    sys.exit(main())
