"""Who follows the metadata log, as their fetches tell: how far each has come, and which metadata.version it can read."""

from collections.abc import Iterable, Iterator

from millstream_cluster.ids import CONTROLLER_ID_BASE, Role, role_of
from millstream_cluster.metadata_version import OLDEST
from millstream_wire.late_dataclass import dataclass

OBSERVERS_MAX = 10_000
STANDBY_SILENT_MS_MAX = 60_000
"""A standby that is silent for longer has gone."""
LISTENS_MS = 5_000
"""So long a controller that has just become active waits for who stands by to find it: several times what that takes."""


@dataclass(slots=True)
class Observer:
    replica_id: int
    log_end_offset: int
    last_fetch_ms: int
    last_caught_up_ms: int
    metadata_version: int
    """The highest level that it can read."""

    def is_standby(self, now_ms: int) -> bool:
        """Whether it is a controller that stands by now: standbys register nowhere, those who left are only silent."""
        try:
            role = role_of(self.replica_id)
        except ValueError:
            return False
        return role is Role.CONTROLLER and now_ms - self.last_fetch_ms <= STANDBY_SILENT_MS_MAX


class Observers:
    """Bounded; when full, the one that has been silent longest makes room."""

    def __init__(self, now_ms: int) -> None:
        self._began_ms = now_ms
        self._observers: dict[int, Observer] = {}

    def fetched(
        self, replica_id: int, fetch_offset: int, log_end_offset: int, now_ms: int, *, metadata_version: int
    ) -> None:
        """A follower asked from `fetch_offset`, so it has everything before it; one that names no level is of release 0.1.0."""
        observer = self._observers.pop(replica_id, None)
        if observer is None:
            if len(self._observers) >= OBSERVERS_MAX:
                del self._observers[next(iter(self._observers))]
            observer = Observer(replica_id, fetch_offset, now_ms, -1, OLDEST)
        observer.log_end_offset = fetch_offset
        observer.metadata_version = max(metadata_version, OLDEST)
        observer.last_fetch_ms = now_ms
        if fetch_offset >= log_end_offset:
            observer.last_caught_up_ms = now_ms
        self._observers[replica_id] = observer  # last in order: the most recently heard

    def have_applied(self, end_offset: int, replica_ids: Iterable[int]) -> bool:
        """Whether each of these has everything before this offset."""
        known = (self._observers.get(replica_id) for replica_id in replica_ids)
        return all(observer is not None and observer.log_end_offset >= end_offset for observer in known)

    def levels(self, now_ms: int) -> dict[int, int] | None:
        """What each can read, of controllers only those that stand by now; None: too early to know all of them."""
        if now_ms - self._began_ms < LISTENS_MS:
            return None
        return {
            replica_id: observer.metadata_version
            for replica_id, observer in self._observers.items()
            if observer.is_standby(now_ms) or replica_id < CONTROLLER_ID_BASE
        }

    def __iter__(self) -> Iterator[Observer]:
        return iter(sorted(self._observers.values(), key=lambda observer: observer.replica_id))
