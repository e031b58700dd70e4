"""Byte rates of clients, as Kafka keeps them: whose quota a client counts towards, how much it has moved, how long it waits.

Time is an argument. While nobody has a quota nothing is counted and `active` is false, which is all that the data path looks at.
"""

from collections import OrderedDict, deque
from collections.abc import Mapping

from millstream_cluster.records import QuotaEntity, QuotaEntityType

Client = tuple[str, str]
"""User and client id."""
Level = tuple[str | None, ...]
"""Whom a quota is for: [user] or ["", client id] or [user, client id]; None is the default."""

BUCKETS_MAX = 10_000
"""Clients whose rate is remembered; beyond it the one that was quiet for longest starts anew."""
THROTTLE_MAX_MS = 900_000


class WindowedRate:
    """Bytes a second over `samples` windows of `window_ms`, the last of them under way.

    Fewer windows than that count as if the missing ones had been silent, so that a first burst is no rate.
    """

    __slots__ = ("_samples", "_samples_max", "_total", "_window_ms")

    def __init__(self, *, samples: int, window_ms: int) -> None:
        self._samples_max = samples
        self._window_ms = window_ms
        self._samples: deque[list[int]] = deque()  # [begin_ms, bytes]
        self._total = 0

    def record(self, size: int, now_ms: int) -> None:
        self._expire(now_ms)
        if not self._samples or now_ms - self._samples[-1][0] >= self._window_ms:
            self._samples.append([now_ms, 0])
        self._samples[-1][1] += size
        self._total += size

    def throttle_ms(self, bytes_per_s: float, now_ms: int) -> int:
        """How long nothing may be moved until the rate is back at its bound."""
        self._expire(now_ms)
        if not self._samples:
            return 0
        elapsed_ms = now_ms - self._samples[0][0]
        missing = self._samples_max - 1 - elapsed_ms // self._window_ms
        span_ms = elapsed_ms + max(0, missing) * self._window_ms
        over = self._total * 1000 / span_ms / bytes_per_s - 1
        return min(round(over * span_ms), THROTTLE_MAX_MS) if over > 0 else 0

    def _expire(self, now_ms: int) -> None:
        oldest_ms = now_ms - self._samples_max * self._window_ms
        while self._samples and self._samples[0][0] <= oldest_ms:
            self._total -= self._samples.popleft()[1]


class Quota:
    """One kind of byte rate: whose bound holds for a client, and what counts towards it."""

    def __init__(self, key: str, *, samples: int, window_ms: int) -> None:
        self.active = False
        self._key = key
        self._samples = samples
        self._window_ms = window_ms
        self._bounds: dict[Level, float] = {}
        self._rates: OrderedDict[Level, WindowedRate] = OrderedDict()

    def configure(self, quotas: Mapping[tuple[QuotaEntity, ...], Mapping[str, float]]) -> None:
        bounds = {_level(entity): values[self._key] for entity, values in quotas.items() if self._key in values}
        if bounds != self._bounds:
            self._bounds = bounds
            self._rates.clear()
            self.active = bool(bounds)

    def charge(self, client: Client, size: int, now_ms: int) -> int:
        """Count bytes that were moved; the milliseconds for which the client has to wait now."""
        found = self._find(client)
        if found is None or size == 0:
            return 0
        owner, bytes_per_s = found
        rate = self._rates.get(owner)
        if rate is None:
            rate = self._rates[owner] = WindowedRate(samples=self._samples, window_ms=self._window_ms)
            if len(self._rates) > BUCKETS_MAX:
                self._rates.popitem(last=False)
        self._rates.move_to_end(owner)
        rate.record(size, now_ms)
        return rate.throttle_ms(bytes_per_s, now_ms)

    def burst_bytes(self, client: Client) -> int | None:
        """The most that the client may move at once and then be within its quota again when the windows are over."""
        found = self._find(client)
        return None if found is None else max(1, int(found[1] * (self._samples - 1) * self._window_ms / 1000))

    def _find(self, client: Client) -> tuple[Level, float] | None:
        """The bound of the most exact level, and who shares it: a user's clients, or those of one id."""
        user, client_id = client
        for level in ((user, client_id), (user, None), (user,), (None, client_id), (None, None), (None,)):
            bound = self._bounds.get(level)
            if bound is not None:
                return (client if len(level) == 2 else (user,)), bound
        for shared in (("", client_id), ("", None)):
            bound = self._bounds.get(shared)
            if bound is not None:
                return ("", client_id), bound
        return None


def _level(entity: tuple[QuotaEntity, ...]) -> Level:
    names = {part.type: part.name for part in entity}
    if QuotaEntityType.CLIENT_ID not in names:
        return (names[QuotaEntityType.USER],)
    return names.get(QuotaEntityType.USER, ""), names[QuotaEntityType.CLIENT_ID]
