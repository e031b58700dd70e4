"""One kind of client quota that is a rate: whose bound holds, what counts towards it, how long who is over it waits.

While nobody has one, nothing is counted and `active` is false, which is all that a data path looks at.
"""

from millstream_cluster.quotas.accounts import Accounts
from millstream_cluster.quotas.bounds import Bounds, Client, QuotasByEntity
from millstream_cluster.quotas.throttled import Throttled
from millstream_cluster.quotas.windows import THROTTLE_MAX_MS, WindowedRate, Windows


class ClientQuota:
    def __init__(
        self, key: str, windows: Windows, *, units: float = 1.0, throttle_max_ms: int = THROTTLE_MAX_MS
    ) -> None:
        """`units`: how many of what is counted one of the bound's are."""
        self.key = key
        self.active = False
        self.throttled = Throttled(key)
        self._windows = windows
        self._units = units
        self._throttle_max_ms = throttle_max_ms
        self._bounds = Bounds({}, key)
        self._rates: Accounts[WindowedRate] = Accounts(windows.span_ms)

    @property
    def accounts(self) -> int:
        """How many are remembered."""
        return len(self._rates)

    def configure(self, quotas: QuotasByEntity) -> None:
        """From now on these hold; what was used counts towards the new ones, too."""
        self._bounds = Bounds(quotas, self.key)
        self.active = len(self._bounds) > 0
        if not self.active:
            self._rates.clear()

    def charge(self, client: Client, amount: int, now_ms: int) -> int:
        """Count what was used; the milliseconds for which the client has to wait now."""
        found = self._bounds.find(client)
        if found is None or amount == 0:
            return 0
        owner, bound = found
        rate = self._rates.find(owner, now_ms)
        if rate is None:
            rate = self._rates.open(owner, WindowedRate(self._windows))
        rate.record(amount, now_ms)
        throttle_ms = min(rate.throttle_ms(bound * self._units, now_ms), self._throttle_max_ms)
        if throttle_ms:
            self.throttled.note(throttle_ms)
        return throttle_ms

    def burst(self, client: Client) -> int | None:
        """The most that the client may use at once and then be within its quota again when the windows are over."""
        found = self._bounds.find(client)
        return None if found is None else max(1, int(found[1] * self._units * self._windows.burst_ms / 1000))
