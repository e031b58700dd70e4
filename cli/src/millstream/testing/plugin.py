"""The pytest plugin: fixtures, and the marker that says what kind of cluster a test wants. Imports nothing before a test asks for one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from millstream.testing import HostProcess, Millstream

MARKER = "millstream"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(brokers=1, tls=False, users={{}}, settings={{}}): what kind of cluster the fixture {MARKER} is",
    )


@pytest.fixture(scope="session")
def millstream_host() -> "Iterator[HostProcess]":
    """The process with all clusters of this session, or of this worker of pytest-xdist."""
    from millstream.testing import HostProcess

    with HostProcess() as host:
        yield host


@pytest.fixture
def millstream(request: pytest.FixtureRequest, millstream_host: "HostProcess") -> "Iterator[Millstream]":
    """A cluster for this test alone."""
    from millstream.testing import Millstream, Wanted

    marker = request.node.get_closest_marker(MARKER)
    options: dict[str, Any] = dict(marker.kwargs) if marker is not None else {}
    with Millstream(millstream_host, Wanted(**options), keep_reserve=True) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def millstream_session(millstream_host: "HostProcess") -> "Iterator[Millstream]":
    """One cluster for all tests that ask for this; `create_topic()` gives each its own topics."""
    from millstream.testing import Millstream, Wanted

    with Millstream(millstream_host, Wanted()) as cluster:
        yield cluster
