"""docs/security.md says what protects whom; what it names as proof has to be there, and what it claims has to name one."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/security.md").read_text()
WITHOUT_PROOF = ("ardening list", "does not protect", "Certificates", "Doors")
"""Sections of advice, limits and tables; what the tables of doors say is proved right behind them."""


@cache
def known_tests() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found.setdefault(node.name, []).append(path)
    return found


def sections() -> dict[str, str]:
    parts = re.split(r"(?m)^#{2,3} (.+)$", PAGE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def claims(text: str) -> list[str]:
    """Its items, each with the lines that go on with it."""
    return re.findall(r"(?m)^- .*(?:\n  .*)*", text)


def test_the_page_is_read_as_it_is_written() -> None:
    assert len(sections()) > 12
    assert sum(len(claims(text)) for text in sections().values()) > 30
    assert claims("- a\n  b\n- c\n\nd") == ["- a\n  b", "- c"]


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`(test_\w+)`", PAGE)
    assert len(named) > 40
    assert sorted({name for name in named if name not in known_tests()}) == []


def test_every_file_that_is_named_exists() -> None:
    paths = re.findall(r"`((?:tests|docs|libs)/[\w./-]+)`", PAGE)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_claim_names_its_test() -> None:
    unproved = [
        claim
        for title, text in sections().items()
        if not any(word in title for word in WITHOUT_PROOF)
        for claim in claims(text)
        if not re.search(r"`test_\w+`|tests/|`\w+/test_\w+\.py`", claim)
    ]
    assert unproved == []
