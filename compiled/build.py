"""Make extension modules of the files that `modules` lists, or remove them: `compiled/build.py [--remove | --remove-stale] [DIR]`.

With DIR, the packages lie there (an image's) and not in the workspace. Without a compiler this says so and does nothing:
plain Python always works. What was made lies beside its source.
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
BUILD_TIMEOUT_S = 600


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
    for source in found:
        remove(source)
    if options.remove:
        return 0
    missing = _missing()
    if missing:
        print(f"compiled: plain Python, because there is {missing}")
        return 0
    for source in found:
        if not _compile(source, options.directory):
            remove(source)
    return 0


def sources(directory: Path | None = None) -> list[Path]:
    paths = [Path(line) for line in (HERE / "modules").read_text().split()]
    if directory is None:
        return [WORKSPACE / path for path in paths]
    return [found for path in paths if (found := directory / _below_src(path)).exists()]


def extensions(source: Path) -> list[Path]:
    return [*source.parent.glob(f"{source.stem}.*.so"), *source.parent.glob(f"{source.stem}__mypyc.*.so")]


def remove(source: Path) -> None:
    for extension in extensions(source):
        extension.unlink(missing_ok=True)


def remove_stale(found: list[Path]) -> None:
    for source in found:
        if any(extension.stat().st_mtime < source.stat().st_mtime for extension in extensions(source)):
            remove(source)


def _missing() -> str | None:
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"no C compiler ({compiler})"
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "no Python.h"
    return None


def _compile(source: Path, directory: Path | None) -> bool:
    """Compile in a directory apart, then put the result beside the source; say why if it does not work."""
    roots = [directory] if directory is not None else sorted({_root(each) for each in sources()} | _workspace_roots())
    with tempfile.TemporaryDirectory(prefix="millstream-compiled-") as scratch:
        package = Path(scratch) / source.parent.relative_to(_root(source) if directory is None else directory)
        package.mkdir(parents=True)
        environment = os.environ | {"MYPYPATH": os.pathsep.join(map(str, roots))}
        command = [str(Path(sys.executable).with_name("mypyc")), "--ignore-missing-imports", str(source)]
        result = subprocess.run(
            command, cwd=scratch, env=environment, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, check=False
        )
        if result.returncode != 0:
            print(f"compiled: {source.name} stays plain Python:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
            return False
        for made in package.glob("*.so"):
            shutil.copy(made, source.parent / made.name)
    print(f"compiled: {source.stem}", flush=True)
    return True


def _workspace_roots() -> set[Path]:
    return set(WORKSPACE.glob("*/*/src")) | set(WORKSPACE.glob("*/src"))


def _root(source: Path) -> Path:
    return next(parent for parent in source.parents if parent.name == "src")


def _below_src(path: Path) -> Path:
    return path.relative_to(_root(path))


if __name__ == "__main__":
    sys.exit(main())
