"""Which connections a server takes in, and when: how many at a time and how many a second, in all, by listener and by address.

Pure, time is an argument. As Apache Kafka does it: where a listener or the server is full or too fast, connections wait before the
door, in order; who comes too fast from one address is let in no further and told to leave after a while; too many from one address
are closed at once. The listener of nodes is not held back by what clients take from the whole.
"""

from collections import Counter
from collections.abc import Callable

from millstream_cluster.quotas.accounts import Accounts
from millstream_cluster.quotas.addresses import canonical
from millstream_cluster.quotas.bounds import QuotasByEntity
from millstream_cluster.quotas.keys import CONNECTIONS
from millstream_cluster.quotas.throttled import Throttled
from millstream_cluster.quotas.windows import WindowedRate
from millstream_cluster.records import QuotaEntityType
from millstream_runtime.network.links import Limits
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why somebody is not taken in, and after which time that is shown."""

    reason: str
    after_ms: int = 0


class ConnectionQuotas:
    """Of one server. Invariant: `_open` is the sum over listeners, and over addresses."""

    def __init__(self, limits: Limits) -> None:
        self.throttled = Throttled("max.connection.creation.rate")
        self.throttled_addresses = Throttled(CONNECTIONS)
        self._limits = limits
        self._open = 0
        self._open_from: Counter[str] = Counter()
        self._rate = WindowedRate(limits.quota_windows)
        self._entrances: list[Entrance] = []
        self._default_rate: float | None = None
        self._rates_of: dict[str, float] = {}
        self._rates_from: Accounts[WindowedRate] = Accounts(limits.quota_windows.span_ms)

    def entrance(self, listener_name: str = "", *, is_for_nodes: bool = False) -> "Entrance":
        made = Entrance(self, listener_name, is_for_nodes=is_for_nodes)
        self._entrances.append(made)
        return made

    def limit(self, limits: Limits) -> None:
        """Let these hold from now on; nobody who is in has to leave."""
        self._limits = limits
        self._tell_of_room()

    def on_quotas(self, quotas: QuotasByEntity) -> None:
        """Let these addresses connect so fast from now on."""
        rates = {
            entity[0].name: values[CONNECTIONS]
            for entity, values in quotas.items()
            if CONNECTIONS in values and entity[0].type is QuotaEntityType.IP
        }
        self._default_rate = rates.pop(None, None)
        self._rates_of = {_address(name): rate for name, rate in rates.items() if name is not None}

    def _tell_of_room(self) -> None:
        for entrance in self._entrances:
            entrance.on_room()

    def _throttle_ms(self, rate: WindowedRate, per_s: float, now_ms: int) -> int:
        return min(rate.throttle_ms(per_s, now_ms), self._limits.quota_windows.window_ms)


class Entrance:
    """Of one listener: `arrive` for each connection, then `enter` once that time is over and there is room; `leave` when it is gone."""

    def __init__(self, quotas: ConnectionQuotas, listener_name: str, *, is_for_nodes: bool) -> None:
        self.on_room: Callable[[], None] = lambda: None
        """Called when there may be room again."""
        self.open = 0
        self._quotas = quotas
        self._name = listener_name
        self._is_for_nodes = is_for_nodes
        self._rate = WindowedRate(quotas._limits.quota_windows)

    @property
    def _is_protected(self) -> bool:
        """Whether nodes come in here, and clients elsewhere."""
        return self._is_for_nodes and any(not each._is_for_nodes for each in self._quotas._entrances)

    def arrive(self, now_ms: int) -> int:
        """Count one more; the milliseconds that it has to wait."""
        quotas, limits = self._quotas, self._quotas._limits
        counted = [(self._rate, limits.creation_rate_of(self._name))]
        if not self._is_protected:
            counted.append((quotas._rate, limits.connection_creation_rate_max))
        throttle_ms = 0
        for rate, per_s in counted:
            rate.record(1, now_ms)
            throttle_ms = max(throttle_ms, quotas._throttle_ms(rate, per_s, now_ms))
        if throttle_ms:
            quotas.throttled.note(throttle_ms)
        return throttle_ms

    @property
    def has_room(self) -> bool:
        limits = self._quotas._limits
        if self.open >= limits.connections_max_of(self._name):
            return False
        return self._is_protected or self._quotas._open < limits.connections_max

    def enter(self, host: str, now_ms: int) -> Refusal | None:
        """Take it in, or say why not."""
        quotas, limits = self._quotas, self._quotas._limits
        address = _address(host)
        throttle_ms = self._throttle_ms_from(address, now_ms)
        if throttle_ms:
            self._rate.record(-1, now_ms)
            if not self._is_protected:
                quotas._rate.record(-1, now_ms)
            quotas.throttled_addresses.note(throttle_ms)
            return Refusal(CONNECTIONS, throttle_ms)
        if quotas._open_from[address] >= limits.connections_per_ip_overrides.get(
            address, limits.connections_per_ip_max
        ):
            return Refusal("max.connections.per.ip")
        self.open += 1
        quotas._open += 1
        quotas._open_from[address] += 1
        return None

    def leave(self, host: str) -> None:
        quotas, address = self._quotas, _address(host)
        self.open -= 1
        quotas._open -= 1
        quotas._open_from[address] -= 1
        if not quotas._open_from[address]:
            del quotas._open_from[address]
        quotas._tell_of_room()

    def close(self) -> None:
        """Nobody comes in here any more; who is in stays."""
        self._quotas._entrances.remove(self)

    def _throttle_ms_from(self, address: str, now_ms: int) -> int:
        """Counts only who is let in."""
        quotas = self._quotas
        per_s = quotas._rates_of.get(address, quotas._default_rate)
        if per_s is None:
            return 0
        rate = quotas._rates_from.find((address,), now_ms)
        if rate is None:
            rate = quotas._rates_from.open((address,), WindowedRate(quotas._limits.quota_windows))
        rate.record(1, now_ms)
        throttle_ms = quotas._throttle_ms(rate, per_s, now_ms)
        if throttle_ms:
            rate.record(-1, now_ms)
        return throttle_ms


def _address(host: str) -> str:
    """In the simulation hosts have names instead."""
    return canonical(host) or host
