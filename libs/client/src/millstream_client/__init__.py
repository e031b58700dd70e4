"""A Kafka client on asyncio: a cluster, a producer, a consumer. `millstream.streams` is the short way to read in plain Python."""

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
