"""A page of a long list: what is filtered, in which order, and where a page that is not there any more leads to."""

import pytest

from millstream_client import InvalidData
from millstream_console.paging import Page, Paging

ROWS = [(f"topic-{number:04}", number % 7) for number in range(10_000)]
KEYS = {"name": lambda row: row[0], "weight": lambda row: row[1]}


def cut(**query: str) -> Page[tuple[str, int]]:
    return Paging.of(query).cut(ROWS, KEYS, lambda row: row[0])


def test_the_first_of_ten_thousand() -> None:
    page = cut()
    assert page.rows == ROWS[:50]
    assert (page.matching, page.total, page.page) == (10_000, 10_000, 0)


def test_by_another_order_equal_ones_stay_in_the_first() -> None:
    assert [row[0] for row in cut(sort="-weight", size="3").rows] == ["topic-0006", "topic-0013", "topic-0020"]
    assert [row[0] for row in cut(sort="-name", size="2").rows] == ["topic-9999", "topic-9998"]


def test_a_filter_looks_at_text_whatever_its_case() -> None:
    page = cut(filter="TOPIC-000")
    assert page.matching == 10
    assert page.total == 10_000


def test_a_page_after_the_last_is_the_last() -> None:
    page = cut(page="9999", size="500")
    assert page.rows == ROWS[-500:]
    assert page.page == 19
    assert cut(filter="nothing has this", page="3").page == 0


def test_sizes_are_bounded_and_nonsense_is_refused() -> None:
    assert len(cut(size="100000").rows) == 500
    assert len(cut(size="0").rows) == 1
    for query in ({"page": "-1"}, {"page": "x"}, {"size": "²"}, {"page": "9" * 30}, {"sort": "colour"}):
        with pytest.raises(InvalidData):
            cut(**query)
