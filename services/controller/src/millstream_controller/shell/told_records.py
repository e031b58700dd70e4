"""Which records of the metadata log clients are told as its history: who came, went and led, and what was set.

Who may log in and what for is not among them, and no value of a setting that is a secret, or not known to be none.
"""

from collections.abc import Iterable
from dataclasses import replace

from millstream_cluster import records as r
from millstream_cluster.configs import TABLES
from millstream_cluster.metadata_version import NEWEST
from millstream_controller.shell.batches import COMPRESS_FROM_BYTES, RECORDS_BYTES_MAX
from millstream_wire.records import Compression, Record, check, decode_batch, encode_batch

HIDDEN = "(hidden)"
_TOLD = (
    r.ClusterCreated,
    r.ConfigChanged,
    r.ControllerElected,
    r.ControllerResigned,
    r.FeatureLevelSet,
    r.MetadataVersionSet,
    r.NodeFenced,
    r.NodeLogDirsChanged,
    r.NodeRegistered,
    r.NodeUnfenced,
    r.NodeUnregistered,
    r.PartitionChanged,
    r.PartitionCreated,
    r.ShardAssigned,
    r.TopicCreated,
    r.TopicDeleted,
)


def all_told(records: Iterable[r.MetadataRecord]) -> bool:
    """Whether clients may be given the batch of these records as it is."""
    return all(isinstance(each, _TOLD) and not _is_secret(each) for each in records)


def told(batch: bytes) -> bytes:
    """The batch with what clients may be told; nothing at all if that is no record."""
    kept = []
    for record in decode_batch(batch, check(batch), limit=RECORDS_BYTES_MAX):
        fact = r.decode_record(record.key, record.value)
        if isinstance(fact, r.ConfigChanged) and _is_secret(fact):
            key, value = r.encode_record(replace(fact, value=HIDDEN), NEWEST)
            kept.append(Record(record.offset, record.timestamp, key, value, ()))
        elif isinstance(fact, _TOLD):
            kept.append(record)
    if not kept:
        return b""
    compression = Compression.ZSTD if len(batch) > COMPRESS_FROM_BYTES else Compression.NONE
    return encode_batch(kept, base_offset=kept[0].offset, compression=compression, keep_offsets=True)


def _is_secret(fact: r.MetadataRecord) -> bool:
    if not isinstance(fact, r.ConfigChanged) or fact.value is None:
        return False
    key = TABLES[fact.resource_type].get(fact.key)
    return key is None or key.sensitive
