"""Three brokers under load, groups of three kinds, and a broker that dies while somebody looks."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
from confluent_kafka.admin import AdminClient, NewTopic
from console_traffic import GROUPS, traffic
from opened_page import PATIENCE_MS, SIZES, THEMES, opened, shows
from playwright.sync_api import Browser, Page, expect

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Cluster]:
    with servers.cluster(tmp_path_factory.mktemp("watched"), "auto.leader.rebalance.enable=false") as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        for made in admin.create_topics([NewTopic("orders", 6, 3)]).values():
            made.result(TIMEOUT_S)
        with traffic(running.bootstrap, "orders"):
            yield running


@pytest.fixture(scope="module")
def url(running: servers.Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.console(tmp_path_factory.mktemp("console"), running.bootstrap) as console:
        found = re.search(r"http://[\d.:]+", console.ready_line)
        assert found is not None
        yield found.group()


def leader_of(running: servers.Cluster, topic: str) -> int:
    metadata = AdminClient({"bootstrap.servers": running.bootstrap}).list_topics(topic, timeout=TIMEOUT_S)
    leader: int = metadata.topics[topic].partitions[0].leader
    return leader


def followed(page: Page) -> int:
    """How many messages have come live."""
    found = re.search(r"Live: ([\d,]+) message", page.locator(".pager").inner_text())
    return int(found.group(1).replace(",", "")) if found is not None else 0


def test_a_broker_that_dies_is_seen_and_told_and_nothing_stops(
    browser: Browser, running: servers.Cluster, url: str, pictures: Path | None
) -> None:
    with opened(browser, url, "groups") as page:
        for group, kind in GROUPS.items():
            row = page.locator("tbody tr", has_text=group)
            expect(row).to_contain_text(kind, timeout=PATIENCE_MS)
            expect(row).to_contain_text("stable", timeout=PATIENCE_MS)
    with (
        opened(browser, url, "overview", answers_may_fail=True) as overview,
        opened(browser, url, "topic?topic=orders", answers_may_fail=True) as live,
    ):
        shows(overview, "Everything is well")
        live.get_by_role("button", name="Live").click()
        expect(live.locator(".pager")).to_contain_text(re.compile(r"Live: [1-9]"), timeout=PATIENCE_MS)
        gone = leader_of(running, "orders")
        running.kill(f"broker-{gone}")
        shows(overview, "fenced")
        shows(overview, "Brokers that do not answer")
        before = followed(live)
        servers.eventually(lambda: _goes_on(live, before), within_s=TIMEOUT_S)
        for theme in THEMES if pictures is not None else ():
            for size in SIZES:
                with opened(browser, url, "overview", size, theme, answers_may_fail=True) as page:
                    shows(page, "fenced")
                    page.screenshot(path=pictures / f"broker-gone-{size}-{theme}.png")
        with opened(browser, url, "topic?topic=orders&tab=happened", answers_may_fail=True) as page:
            shows(page, f"instead of broker {gone}")
            expect(page.locator(".events")).to_contain_text(re.compile(f"broker {gone} (died|fell silent)"))
            if pictures is not None:
                page.screenshot(path=pictures / "why-wide-light.png")
        with opened(browser, url, "group?group=analytics", answers_may_fail=True) as page:
            shows(page, "analytics-worker")
            shows(page, "a second")
            if pictures is not None:
                page.screenshot(path=pictures / "group-watched-wide-light.png")
        running.restart(f"broker-{gone}")
        shows(overview, "Everything is well")
        expect(overview.locator("tbody .badge.bad")).to_have_count(0, timeout=PATIENCE_MS)


def _goes_on(live: Page, before: int) -> None:
    assert followed(live) > before
