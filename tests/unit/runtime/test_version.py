"""The version that this node tells others."""

from importlib.metadata import version

from millstream_runtime import VERSION


def test_it_is_the_package_s() -> None:
    assert version("millstream-runtime") == VERSION
