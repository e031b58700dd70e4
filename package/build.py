"""Build what `pip install millstream` takes into dist/: a source distribution, the wheel that runs anywhere, and one for this platform.

`package/build.py [--out DIR]`, in the development environment. The pure wheel is built of the unpacked source distribution, so that it
shows that this is whole; the platform's takes the extensions that `make setup` has built, and is left out where there are none.
Nothing is written into the workspace but DIR: setuptools would find there what an earlier build has left.
"""

import argparse
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

from packaging.metadata import Metadata

WORKSPACE = Path(__file__).resolve().parents[1]
BACKEND = "import sys; from setuptools import build_meta; print(build_meta.build_{what}(sys.argv[1]))"
BUILD_TIMEOUT_S = 300
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")


def main() -> int:
    parser = argparse.ArgumentParser(prog="package/build.py")
    parser.add_argument("--out", type=Path, default=WORKSPACE / "dist", metavar="DIR", help="default dist/")
    out: Path = parser.parse_args().out.absolute()
    for old in [*out.glob("millstream-*.whl"), *out.glob("millstream-*.tar.gz")]:
        old.unlink()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="millstream-package-") as name:
        scratch = Path(name)
        _copy_sources(scratch / "sources")
        archive = _build("sdist", scratch / "sources", out)
        _build("wheel", _unpacked(archive, scratch / "pure"), out)
        extensions = _extensions()
        if extensions:
            tree = _unpacked(archive, scratch / "platform")
            for extension in extensions:
                shutil.copy2(extension, tree / extension.relative_to(WORKSPACE))
            _build("wheel", tree, out)
        else:
            print("no wheel for this platform: nothing is compiled (make setup)")
    return 0


def _copy_sources(target: Path) -> None:
    """What the source distribution may take from, without what lies about."""
    project = tomllib.loads((WORKSPACE / "pyproject.toml").read_text())
    for root in project["tool"]["setuptools"]["packages"]["find"]["where"]:
        shutil.copytree(WORKSPACE / root, target / root, ignore=LEFT_OUT)
    shutil.copytree(WORKSPACE / "compiled", target / "compiled", ignore=LEFT_OUT)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy2(WORKSPACE / name, target / name)


def _build(what: str, tree: Path, out: Path) -> Path:
    """Call the backend that pyproject.toml names, as any installer does, and check what it made."""
    began_s = time.monotonic()
    command = [sys.executable, "-c", BACKEND.format(what=what), str(out)]
    result = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, check=False)
    if result.returncode != 0:
        raise SystemExit(f"package/build.py: {what} failed\n{result.stdout[-2000:]}{result.stderr[-4000:]}")
    made = out / result.stdout.split()[-1]
    Metadata.from_email(_metadata(made), validate=True)
    print(f"{made.name}  {made.stat().st_size / 1e6:.1f} MB  {time.monotonic() - began_s:.1f} s", flush=True)
    return made


def _metadata(made: Path) -> bytes:
    if made.suffix == ".whl":
        with zipfile.ZipFile(made) as wheel:
            return wheel.read(next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")))
    with tarfile.open(made) as archive:
        found = archive.extractfile(f"{made.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert found is not None
        return found.read()


def _unpacked(archive: Path, target: Path) -> Path:
    with tarfile.open(archive) as opened:
        opened.extractall(target, filter="data")
    return next(target.iterdir())


def _extensions() -> list[Path]:
    """All of them, or none if one is missing or older than its source: they come and go together."""
    build = runpy.run_path(str(WORKSPACE / "compiled" / "build.py"))
    sources: list[Path] = build["sources"]()
    found = set()
    for source in sources:
        made = build["extensions"](source)
        if not made or any(each.stat().st_mtime < source.stat().st_mtime for each in made):
            return []
        found.update(made)
    library = sources[0]
    while library.parent.name != "src":
        library = library.parent
    return [*sorted(found), *library.glob(f"{build['LIBRARY']}__mypyc.*.so")]


if __name__ == "__main__":
    sys.exit(main())
