"""A Kafka client on asyncio: a cluster, a producer, a consumer. `millstream.streams` is the short way to read in plain Python."""

from millstream.client.addresses import DEFAULT_BOOTSTRAP, parse_bootstrap
from millstream.client.assignment import TopicPartition
from millstream.client.batches import Delivered
from millstream.client.cluster import Cluster
from millstream.client.consumer import Commit, Consumer, ConsumerConfig, Share
from millstream.client.errors import Closed, Expired, InvalidData, KafkaError, Refused, Unreachable
from millstream.client.fetcher import READ_COMMITTED, READ_UNCOMMITTED, FetchConfig
from millstream.client.formats import FORMATS, Format, format_named
from millstream.client.membership import GroupConfig
from millstream.client.message import Message
from millstream.client.offsets import EARLIEST, LATEST
from millstream.client.opening import open_cluster
from millstream.client.producer import Producer, ProducerConfig

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
