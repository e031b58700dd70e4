"""Ten thousand topics: what they cost the console, and that a page of them can be used."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
from confluent_kafka.admin import AdminClient, NewTopic
from console_page import ConsolePage
from opened_page import opened, shows
from playwright.sync_api import Browser, expect

TOPICS = 10_000
AT_ONCE = 500
TIMEOUT_S = 300
MEMORY_MAX_MB = 80
LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((each) => each.duration)))
    .observe({ type: "longtask", buffered: true });
"""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.ServerProcess]:
    directory = tmp_path_factory.mktemp("many")
    with servers.node(directory, more=["--no-console"]) as node:
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        for first in range(0, TOPICS, AT_ONCE):
            wanted = [NewTopic(f"team-{n % 90}.events-{n}", 1, 1) for n in range(first, first + AT_ONCE)]
            for made in admin.create_topics(wanted, request_timeout=TIMEOUT_S, operation_timeout=TIMEOUT_S).values():
                made.result(TIMEOUT_S)
        with servers.console(directory, node.bootstrap) as console:
            yield console


def megabytes(pid: int, field: str) -> float:
    found = re.search(rf"^{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1)) / 1024


def test_they_are_listed_found_and_told_of_in_little_memory(browser: Browser, console: servers.ServerProcess) -> None:
    found = re.search(r"http://[\d.:]+", console.ready_line)
    assert found is not None
    url = found.group()
    with opened(browser, url, "topics") as page:
        page.evaluate(LONG_TASKS)
        shows(page, f"of {TOPICS:,}")
        painted_ms = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        page.get_by_role("searchbox").fill("events-9999")
        expect(page.locator("tbody tr")).to_have_count(1)
        page.get_by_role("searchbox").fill("")
        page.get_by_role("button", name="Size").click()
        page.get_by_role("button", name="Next").click()
        shows(page, f"100 of {TOPICS:,}")
        longest_ms = max(page.evaluate("window.longTasks"), default=0)
    looked = megabytes(console.pid, "VmRSS")
    story = ConsolePage(url).get("story", about="topic", name="team-9.events-9999")
    assert story["rows"][-1]["what"].startswith("created")
    most = megabytes(console.pid, "VmHWM")
    print(
        f"{TOPICS:,} topics: first paint {painted_ms:.0f} ms, longest task of the page {longest_ms:.0f} ms,"
        f" memory {looked:.0f} MB, at most {most:.0f} MB with a story told"
    )
    assert looked < MEMORY_MAX_MB
