"""What was used by whom: as many as were seen lately, and never more than ACCOUNTS_MAX."""

from typing import Generic, TypeVar

from millstream_cluster.quotas.bounds import Owner

A = TypeVar("A")

ACCOUNTS_MAX = 10_000


class Accounts(Generic[A]):
    """In two generations: whoever does nothing while one of them passes is forgotten, and begins anew.

    One passes in `span_ms`, after which there should be nothing left to remember, or when there are so many that somebody has to
    go: those that were quiet for longest.
    """

    def __init__(self, span_ms: int) -> None:
        self._span_ms = span_ms
        self._began_ms = 0
        self._young: dict[Owner, A] = {}
        self._old: dict[Owner, A] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def find(self, owner: Owner, now_ms: int) -> A | None:
        if now_ms - self._began_ms >= self._span_ms or len(self._young) >= ACCOUNTS_MAX // 2:
            self._old, self._young = self._young, {}
            self._began_ms = now_ms
        found = self._young.get(owner)
        if found is None and owner in self._old:
            found = self._young[owner] = self._old.pop(owner)
        return found

    def open(self, owner: Owner, account: A) -> A:
        """For who was not found."""
        self._young[owner] = account
        return account

    def clear(self) -> None:
        self._young.clear()
        self._old.clear()
