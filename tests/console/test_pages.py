"""Each page in a browser, narrow and wide, light and dark: it shows what it should, harms nobody and can be used by everybody."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from opened_page import SIZES, THEMES, opened, shows
from playwright.sync_api import Browser, expect

PAGES = {
    "overview": ("overview", "Everything is well"),
    "topics": ("topics", "team-0.events-0"),
    "messages": ("topic?topic=orders", "customer-"),
    "hostile": ("topic?topic=hostile", "0xfffe00c328"),
    "partitions": ("topic?topic=wide&tab=partitions", "100 of 1,000"),
    "readers": ("topic?topic=orders&tab=readers", "analytics"),
    "settings": ("topic?topic=orders&tab=settings", "604800000"),
    "topic-happened": ("topic?topic=orders&tab=happened", "broker 0 leads"),
    "happened": ("happened", "let in"),
    "groups": ("groups", "billing"),
    "group": ("group?group=analytics", "it subscribes to orders"),
    "transactions": ("transactions", "checkout-7"),
    "transaction": ("transaction?id=checkout-7", "payments-"),
    "brokers": ("brokers", "free of"),
    "broker": ("broker?broker=0", "log.dirs"),
    "users": ("rights", "Set a password"),
    "quotas": ("rights?tab=quotas", "There are no quotas"),
}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES)
def test_every_page_can_be_seen_by_everybody(
    browser: Browser, url: str, pictures: Path | None, size: str, theme: str
) -> None:
    troubles = []
    for name, (place, text) in PAGES.items():
        with opened(browser, url, place, size, theme) as page:
            shows(page, text)
            if name == "group":
                page.wait_for_selector(".plot svg")
            if name in ("messages", "hostile"):
                page.locator("button.open").nth(1).click()
            found = Axe().run(page).response["violations"]
            troubles += [
                (name, each["id"], each["nodes"][0]["html"])
                for each in found
                if each["impact"] in ("serious", "critical")
            ]
            if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                troubles.append((name, "wider than the window", ""))
            if pictures is not None:
                page.screenshot(path=pictures / f"{name}-{size}-{theme}.png")
    assert troubles == []


def test_bodies_of_every_kind_are_only_ever_text(browser: Browser, url: str) -> None:
    with opened(browser, url, "topic?topic=hostile") as page:
        shows(page, "onerror")
        for opener in page.locator("button.open").all():
            opener.click()
        page.get_by_role("button", name="Show all").first.click()
        shows(page, "x" * 5_000)
        assert page.locator("main img, main script, main b > b").count() == 0
        assert "harmed" not in page.title()


def test_a_message_is_found_opened_written_and_followed(browser: Browser, url: str) -> None:
    with opened(browser, url, "topic?topic=payments") as page:
        page.get_by_label("Value contains").fill('"order": 17}')
        page.get_by_label("Value contains").press("Enter")
        shows(page, "No message has that in it")
        page.get_by_label("Value contains").fill('"order": 17,')
        page.get_by_label("Value contains").press("Enter")
        expect(page.locator("table.messages tbody tr")).to_have_count(1)
        page.get_by_label("Value contains").fill("")
        page.get_by_label("Value contains").press("Enter")
        page.get_by_role("button", name="Live").click()
        shows(page, "Waiting for messages")
        expect(page.locator(".pager")).to_contain_text("Live: 0 messages")
        page.get_by_role("button", name="Produce").click()
        page.locator("dialog textarea").first.fill("written by a person")
        page.locator("dialog").get_by_role("button", name="Produce").click()
        shows(page, "Written to partition")
        expect(page.locator("table.messages")).to_contain_text("written by a person")


def test_lists_are_filtered_sorted_and_turned_by_keys(browser: Browser, url: str) -> None:
    with opened(browser, url, "overview") as page:
        shows(page, "Everything is well")
        page.keyboard.press("g")
        page.keyboard.press("t")
        shows(page, "team-0.events-0")
        page.keyboard.press("/")
        page.keyboard.type("pay")
        expect(page.locator("tbody tr")).to_have_count(1)
        assert "filter=pay" in page.url
        page.get_by_role("searchbox").fill("")
        page.get_by_role("button", name="Size").click()
        expect(page.locator("tbody tr").first).to_contain_text("hostile")
        page.get_by_role("button", name="Next").click()
        shows(page, "74 of 74")


def test_offsets_are_moved_only_after_a_look(browser: Browser, url: str) -> None:
    with opened(browser, url, "group?group=billing") as page:
        page.get_by_role("button", name="Reset offsets").click()
        page.get_by_role("button", name="Show what would happen").click()
        shows(page, "120 records would be read again")
        shows(page, "It has members")
        assert page.get_by_role("button", name="Move the offsets").count() == 0
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)


def test_the_theme_is_kept(browser: Browser, url: str) -> None:
    with opened(browser, url, "overview") as page:
        shows(page, "Everything is well")
        light = page.evaluate("getComputedStyle(document.body).color")
        page.get_by_role("button", name="Theme: system").click()
        page.get_by_role("button", name="Theme: light").click()
        page.reload()
        shows(page, "Everything is well")
        assert page.locator("html").get_attribute("data-theme") == "dark"
        assert page.evaluate("getComputedStyle(document.body).color") != light


def test_the_first_page_is_painted_at_once(browser: Browser, url: str) -> None:
    """Printed: how fast a machine is at this moment is no claim that a test can hold."""
    with opened(browser, url, "overview") as page:
        shows(page, "Everything is well")
        painted_ms = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first paint after {painted_ms:.0f} ms")
        assert painted_ms > 0
