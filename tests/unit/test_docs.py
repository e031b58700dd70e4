"""Documents made from the code say what the code does."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_generated_documents_are_up_to_date() -> None:
    documents = runpy.run_path(str(DOCS / "generate.py"))["DOCUMENTS"]
    assert documents
    stale = [name for name, make in documents.items() if (DOCS / name).read_text() != make()]
    assert stale == [], "run `make docs`"


def test_the_picture_in_the_readme_is_the_one_of_the_run_that_is_kept(tmp_path: Path) -> None:
    drawn = tmp_path / "bench.svg"
    script, run = ROOT / "bench" / "picture.py", ROOT / "bench" / "runs" / "three-brokers.json"
    subprocess.run([sys.executable, script, run, drawn], check=True, timeout=120)
    assert drawn.read_text() == (DOCS / "bench.svg").read_text()


TOP = (
    "libs",
    "services",
    "operator",
    "cli",
    "simulation",
    "charts",
    "tests",
    "compiled",
    "package",
    "bench",
    "examples",
    "spark-on-k8s",
)
PAGES = ("README.md", "ARCHITECTURE.md", "docs/development.md", "docs/decisions/one-door.md")


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_sends_its_readers_to_is_there(page: str) -> None:
    """`...` stands for the folders between a package and its modules."""
    named = re.findall(r"`([\w.*/-]+/[\w.*/-]*)`", (ROOT / page).read_text())
    paths = [name for name in named if name.split("/")[0] in TOP]
    assert paths, page
    missing = [path for path in paths if not any(ROOT.glob(path.rstrip("/").replace("...", "**")))]
    assert missing == []
