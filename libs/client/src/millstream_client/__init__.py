"""A Kafka client on asyncio: a cluster, a producer, a consumer. `millstream.streams` is the short way to read in plain Python."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream_client.addresses import DEFAULT_BOOTSTRAP, parse_bootstrap
    from millstream_client.assignment import TopicPartition
    from millstream_client.batches import Delivered
    from millstream_client.cluster import Cluster
    from millstream_client.consumer import Commit, Consumer, ConsumerConfig, Share
    from millstream_client.errors import Closed, Expired, InvalidData, KafkaError, Refused, Unreachable
    from millstream_client.fetcher import READ_COMMITTED, READ_UNCOMMITTED, FetchConfig
    from millstream_client.formats import FORMATS, Format, format_named
    from millstream_client.membership import GroupConfig
    from millstream_client.message import Message
    from millstream_client.offsets import EARLIEST, LATEST
    from millstream_client.opening import open_cluster
    from millstream_client.producer import Producer, ProducerConfig

_PLACES = {
    "addresses": ("DEFAULT_BOOTSTRAP", "parse_bootstrap"),
    "assignment": ("TopicPartition",),
    "batches": ("Delivered",),
    "cluster": ("Cluster",),
    "consumer": ("Commit", "Consumer", "ConsumerConfig", "Share"),
    "errors": ("Closed", "Expired", "InvalidData", "KafkaError", "Refused", "Unreachable"),
    "fetcher": ("READ_COMMITTED", "READ_UNCOMMITTED", "FetchConfig"),
    "formats": ("FORMATS", "Format", "format_named"),
    "membership": ("GroupConfig",),
    "message": ("Message",),
    "offsets": ("EARLIEST", "LATEST"),
    "opening": ("open_cluster",),
    "producer": ("Producer", "ProducerConfig"),
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "DEFAULT_BOOTSTRAP",
    "EARLIEST",
    "FORMATS",
    "LATEST",
    "READ_COMMITTED",
    "READ_UNCOMMITTED",
    "Closed",
    "Cluster",
    "Commit",
    "Consumer",
    "ConsumerConfig",
    "Delivered",
    "Expired",
    "FetchConfig",
    "Format",
    "GroupConfig",
    "InvalidData",
    "KafkaError",
    "Message",
    "Producer",
    "ProducerConfig",
    "Refused",
    "Share",
    "TopicPartition",
    "Unreachable",
    "format_named",
    "open_cluster",
    "parse_bootstrap",
]


def __getattr__(name: str) -> Any:
    """Imported when asked for: a command that lists topics has no use for a producer, and should answer at once."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
