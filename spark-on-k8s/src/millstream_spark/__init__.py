"""PySpark jobs over Kafka topics, and a notebook's first cell: `from millstream_spark import session, read_topic, write_topic`."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream_spark.notebook import read_topic, session, write_topic

__all__ = ["read_topic", "session", "write_topic"]


def __getattr__(name: str) -> Any:
    # On demand: Python workers import this package too, and need no session.
    if name in __all__:
        return getattr(importlib.import_module("millstream_spark.notebook"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
