"""CRC-32C, as the extension of the `crc32c` package computes it.

The package around the extension looks itself up in the metadata of all that is installed whenever it is imported, which takes a
node as long as importing the whole protocol. The extension needs nothing of it.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any


def _extension() -> Any:
    package = find_spec("crc32c")  # found, not imported
    places = package.submodule_search_locations if package is not None else None
    spec = PathFinder.find_spec("_crc32c", places)
    if spec is None or spec.loader is None:
        return import_module("crc32c")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


crc32c: Callable[..., int] = _extension().crc32c
"""`crc32c(data, value=0)`: the checksum of any buffer, going on from `value`."""
