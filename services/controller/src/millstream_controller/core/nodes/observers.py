"""How far those who follow the metadata log have come, as their fetches tell: what DescribeQuorum reports."""

from collections.abc import Iterator
from dataclasses import dataclass

OBSERVERS_MAX = 10_000


@dataclass(slots=True)
class Observer:
    replica_id: int
    log_end_offset: int
    last_fetch_ms: int
    last_caught_up_ms: int


class Observers:
    """Bounded; when full, the one that has been silent longest makes room."""

    def __init__(self) -> None:
        self._observers: dict[int, Observer] = {}

    def fetched(self, replica_id: int, fetch_offset: int, log_end_offset: int, now_ms: int) -> None:
        """A follower asked from `fetch_offset`, so it has everything before it."""
        observer = self._observers.pop(replica_id, None)
        if observer is None:
            if len(self._observers) >= OBSERVERS_MAX:
                del self._observers[next(iter(self._observers))]
            observer = Observer(replica_id, fetch_offset, now_ms, -1)
        observer.log_end_offset = fetch_offset
        observer.last_fetch_ms = now_ms
        if fetch_offset >= log_end_offset:
            observer.last_caught_up_ms = now_ms
        self._observers[replica_id] = observer  # last in order: the most recently heard

    def __iter__(self) -> Iterator[Observer]:
        return iter(sorted(self._observers.values(), key=lambda observer: observer.replica_id))
