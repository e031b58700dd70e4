"""An earlier release of Millstream, made from this repository's own history: what a cluster is upgraded from.

It is set up once, as its own Makefile does it, in the user's cache beside Kafka's jars.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETUP_TIMEOUT_S = 570
RELEASES = {"0.1.0": "91e6f9634bb0111e4d5b69117870242d94e9d242"}
"""The commit of each release."""


def installed(version: str) -> Path:
    """The directory with this release's programs (`millstream`, `python`)."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "millstream"
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / f"release-{version}"
    finished = home / "finished"
    with open(cache / f"release-{version}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may ask at once
        if not finished.exists():
            shutil.rmtree(home, ignore_errors=True)
            _set_up(version, home)
            finished.touch()
    return home / ".venv" / "bin"


def _set_up(version: str, home: Path) -> None:
    commit = RELEASES[version]
    known = subprocess.run(
        ["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True, check=False
    )
    if known.returncode != 0:
        raise AssertionError(
            f"release {version} cannot be built: its commit {commit} is not in this clone "
            "(a shallow one? git fetch --unshallow)"
        )
    home.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(home)], input=archive.stdout, check=True)
    # A virtual environment cannot be moved: it is made where it stays. What make was told about this tree is not for that one.
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    done = subprocess.run(
        ["make", "setup", "PLAIN=1"],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SETUP_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"release {version} cannot be set up: {(done.stdout + done.stderr)[-2000:]}")
