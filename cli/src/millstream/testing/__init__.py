"""Kafka for tests: brokers that start in milliseconds, a clock that the test moves, and whatever can go wrong, on request.

    def test_orders(millstream):                      # the pytest plugin is there once millstream is installed
        place_order(millstream.bootstrap_servers)     # any Kafka client
        assert millstream.values("orders") == [b"2 apples"]

Without pytest: `with cluster(brokers=3) as millstream: ...`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from millstream.testing.host_process import HostProcess, TestingError
from millstream.testing.millstream import Broker, Millstream
from millstream.testing.record import Lag, Record
from millstream.testing.wanted import Wanted

__all__ = ["Broker", "HostProcess", "Lag", "Millstream", "Record", "TestingError", "Wanted", "cluster"]


@contextmanager
def cluster(
    *,
    brokers: int = 1,
    tls: bool = False,
    users: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Millstream]:
    """One cluster for as long as a block. `users`: passwords by name. `settings`: Kafka's broker properties."""
    wanted = Wanted(brokers, tls, dict(users or {}), dict(settings or {}))
    with HostProcess() as host, Millstream(host, wanted) as opened:
        yield opened
