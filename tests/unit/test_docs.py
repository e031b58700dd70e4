"""Documents made from the code say what the code does."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_generated_documents_are_up_to_date() -> None:
    documents = runpy.run_path(str(DOCS / "generate.py"))["DOCUMENTS"]
    assert documents
    stale = [name for name, make in documents.items() if (DOCS / name).read_text() != make()]
    assert stale == [], "run `make docs`"
