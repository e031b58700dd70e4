"""Long lists in pieces: a page of rows, in an order, out of those that a filter leaves. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millstream_client import InvalidData
from millstream_console.asked import whole

T = TypeVar("T")

PAGE_ROWS = 50
PAGE_ROWS_MAX = 500


@dataclass(frozen=True, slots=True)
class Paging:
    """What of a list somebody wants to see."""

    filter: str = ""
    sort: str = ""
    descending: bool = False
    page: int = 0
    size: int = PAGE_ROWS

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Paging":
        sort = query.get("sort", "")
        return cls(
            filter=query.get("filter", "").strip(),
            sort=sort.removeprefix("-"),
            descending=sort.startswith("-"),
            page=whole(query, "page", 0),
            size=min(max(1, whole(query, "size", PAGE_ROWS)), PAGE_ROWS_MAX),
        )

    def cut(self, rows: Sequence[T], keys: Mapping[str, Callable[[T], Any]], text: Callable[[T], str]) -> "Page[T]":
        """`keys`: by what rows can be ordered; the first one holds unless another is asked for. `text`: what a filter looks at."""
        wanted = self.filter.lower()
        left = [row for row in rows if wanted in text(row).lower()] if wanted else list(rows)
        if self.sort and self.sort not in keys:
            raise InvalidData(f"sort must be one of {', '.join(keys)}, not {self.sort!r}")
        first = next(iter(keys))
        left.sort(key=keys[first])
        if self.sort and (self.sort != first or self.descending):
            left.sort(key=keys[self.sort], reverse=self.descending)
        pages = max(1, -(-len(left) // self.size))
        page = min(self.page, pages - 1)
        start = page * self.size
        return Page(left[start : start + self.size], len(left), len(rows), page, self.size)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    rows: list[T]
    matching: int
    total: int
    page: int
    size: int

    def shown(self, rows: Sequence[Any]) -> dict[str, Any]:
        """With these rows in place of its own."""
        return {
            "rows": list(rows),
            "matching": self.matching,
            "total": self.total,
            "page": self.page,
            "size": self.size,
        }
