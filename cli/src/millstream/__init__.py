"""Event streaming that speaks the Kafka protocol: the command line, the all-in-one node, and message streams for Python."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.message_streams import MessageStream, Streams, streams

__all__ = ["MessageStream", "Streams", "streams"]


def __getattr__(name: str) -> Any:
    """Imported when asked for: a node has no use for it and should start at once."""
    if name in __all__:
        from millstream import message_streams

        return getattr(message_streams, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
