"""The `.snapshot` files: producer state at an offset, in Kafka's binary format."""

import os
from pathlib import Path
from struct import Struct
from struct import error as StructError

from millstream_log.atomic_file import read_file, replace_file
from millstream_log.disk import DISK, Disk
from millstream_log.errors import CorruptFile
from millstream_log.producer_state import AppendedBatch, ProducerEntry, ProducerState
from millstream_wire.records.checksum import crc32c

_VERSION = 1
_SEQUENCES = 1 << 31

_prefix = Struct(">hI")  # version, checksum of what follows
_count = Struct(">i")
# producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, transaction's first offset
_entry = Struct(">qhiqiqiq")


def snapshot_path(directory: Path, offset: int) -> Path:
    return directory / f"{offset:020d}.snapshot"


def snapshot_offsets(directory: Path) -> list[int]:
    """The offsets that there are snapshots of, in order."""
    return sorted(
        int(name[:20])
        for name in os.listdir(directory)
        if len(name) == 29 and name.endswith(".snapshot") and name[:20].isdecimal()
    )


def delete_snapshots(directory: Path, *, before: int = 0, after: int = (1 << 63) - 1, disk: Disk = DISK) -> None:
    for offset in snapshot_offsets(directory):
        if offset < before or offset > after:
            disk.unlink(snapshot_path(directory, offset))


def store_snapshot(directory: Path, state: ProducerState, offset: int, disk: Disk = DISK) -> None:
    """Store the state of the log up to `offset`."""
    body = bytearray(_count.pack(len(state)))
    for entry in state.entries:
        delta = 0 if entry.latest is None else entry.latest.offset_delta
        body += _entry.pack(
            entry.producer_id,
            entry.epoch,
            entry.last_sequence,
            entry.last_offset,
            delta,
            entry.last_append_ms,
            entry.coordinator_epoch,
            entry.transaction_start,
        )
    replace_file(snapshot_path(directory, offset), _prefix.pack(_VERSION, crc32c(bytes(body))) + body, disk=disk)
    state.snapshot_offset = offset


def load_snapshot(directory: Path, offset: int, disk: Disk = DISK) -> ProducerState:
    path = snapshot_path(directory, offset)
    data = read_file(path, disk)
    state = ProducerState()
    state.snapshot_offset = offset
    try:
        version, checksum = _prefix.unpack_from(data)
        if version != _VERSION or crc32c(data[_prefix.size :]) != checksum:
            raise CorruptFile(f"{path}: version {version}, or a wrong checksum")
        (count,) = _count.unpack_from(data, _prefix.size)
        for at in range(count):
            state.restore(_unpack(data, _prefix.size + _count.size + at * _entry.size))
    except StructError as error:
        raise CorruptFile(f"{path}: {error}") from error
    return state


def _unpack(data: bytes, position: int) -> ProducerEntry:
    fields = _entry.unpack_from(data, position)
    producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, transaction_start = fields
    entry = ProducerEntry(producer_id, epoch)
    entry.coordinator_epoch = coordinator_epoch
    entry.transaction_start = transaction_start
    entry.last_append_ms = timestamp
    if last_offset >= 0 and last_sequence >= 0:
        first_sequence = (last_sequence - delta) % _SEQUENCES
        entry.remember(AppendedBatch(first_sequence, last_sequence, last_offset, delta, timestamp))
    return entry
