"""A page of the console in a browser, with whatever the browser complains of as a failure."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, expect

PATIENCE_MS = 60_000
SIZES = {"wide": (1600, 900), "narrow": (400, 860)}
THEMES = ("light", "dark")
_UNANSWERED = "Failed to load resource"


@contextmanager
def opened(
    browser: Browser, url: str, place: str, size: str = "wide", theme: str = "light", *, answers_may_fail: bool = False
) -> Iterator[Page]:
    """What the policy blocks is a complaint, too. `answers_may_fail`: the cluster is in trouble, and the page may say so."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
    page.goto(f"{url}/#/{place}")
    yield page
    assert [each for each in complaints if not (answers_may_fail and each.startswith(_UNANSWERED))] == []
    context.close()


def shows(page: Page, text: str) -> None:
    expect(page.locator("body")).to_contain_text(text, timeout=PATIENCE_MS)
