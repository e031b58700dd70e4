"""What the files of a partition's directory say, as rows; reads Kafka's files and ours alike and changes none of them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO

from millstream.commands.output import text_of
from millstream.commands.stored_records import readable
from millstream_log.leader_epochs import LeaderEpochs
from millstream_log.producer_snapshot import load_snapshot
from millstream_wire.late_dataclass import dataclass
from millstream_wire.records import (
    HEADER_SIZE,
    BatchHeader,
    Compression,
    EndMarker,
    Record,
    RecordsError,
    check,
    decode_batch,
    parse_header,
)

Row = dict[str, Any]
Advance = Callable[[int], None]

_offset_entry = Struct(">ii")  # offset relative to the segment's base, position
_time_entry = Struct(">qi")  # timestamp, offset relative to the segment's base
_transaction_entry = Struct(">hqqqq")  # version, producer id, first, last and last stable offset


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file and how it is read; `rows` calls back with the position it has reached."""

    path: Path
    kind: str
    rows: Callable[[Advance], Iterator[Row]]


def open_log_file(path: Path, *, deep: bool) -> LogFile | None:
    """None if it is not a file that we read."""
    if path.name == "leader-epoch-checkpoint":
        return LogFile(path, "leader epochs", lambda advance: _leader_epochs(path))
    match path.suffix:
        case ".log":
            return LogFile(path, "records" if deep else "batches", lambda advance: _batches(path, deep, advance))
        case ".index":
            return LogFile(path, "offset index", lambda advance: _offset_index(path))
        case ".timeindex":
            return LogFile(path, "time index", lambda advance: _time_index(path))
        case ".txnindex":
            return LogFile(path, "aborted transactions", lambda advance: _aborted_transactions(path))
        case ".snapshot":
            return LogFile(path, "producers", lambda advance: _producers(path))
        case _:
            return None


def _batches(path: Path, deep: bool, advance: Advance) -> Iterator[Row]:
    """Up to the first batch that is not whole; that one is a row with an error."""
    size = path.stat().st_size
    position = 0
    with open(path, "rb") as file:
        while position < size:
            row, batch, header = _next_batch(file, position)
            if header is None:
                yield row
                return
            if deep and not row["error"]:
                try:
                    yield from _records(path, batch, header)
                except RecordsError as error:
                    yield row | {"error": str(error)}
            else:
                yield row
            position += header.size
            advance(position)


def _next_batch(file: BinaryIO, position: int) -> tuple[Row, bytes, BatchHeader | None]:
    head = file.read(HEADER_SIZE)
    try:
        header = parse_header(head)
    except RecordsError as error:
        return {"position": position, "error": str(error)}, head, None
    batch = head + file.read(header.size - HEADER_SIZE)
    if len(batch) < header.size:
        return {"position": position, "error": f"{len(batch)} of {header.size} bytes"}, batch, None
    return _batch_row(position, batch, header), batch, header


def _batch_row(position: int, batch: bytes, header: BatchHeader) -> Row:
    error = ""
    try:
        check(batch)
    except RecordsError as found:
        error = str(found)
    flags = [
        name
        for name, is_set in (
            ("transactional", header.is_transactional),
            ("control", header.is_control),
            ("delete-horizon", header.has_delete_horizon),
        )
        if is_set
    ]
    codec = header.compression
    return {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "position": position,
        "size": header.size,
        "records": header.record_count,
        "max_timestamp": header.max_timestamp,
        "timestamp_type": header.timestamp_type.name.lower(),
        "compression": Compression(codec).name.lower() if codec in Compression.__members__.values() else codec,
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "flags": flags,
        "error": error,
    }


def _records(path: Path, batch: bytes, header: BatchHeader) -> Iterator[Row]:
    topic = path.absolute().parent.name.rpartition("-")[0]
    for record in decode_batch(batch, header):
        key, value = _marker(record) if header.is_control else readable(topic, record.key, record.value)
        yield {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": key,
            "value": value,
            "headers": [[name, text_of(content)] for name, content in record.headers],
            "error": "",
        }


def _marker(record: Record) -> tuple[str, str | None]:
    marker = EndMarker.decode(record)
    if marker is None:
        return "control", text_of(record.value)
    return "COMMIT" if marker.committed else "ABORT", f"coordinator epoch {marker.coordinator_epoch}"


def _base_offset(path: Path) -> int:
    return int(path.stem) if path.stem.isdecimal() else 0


def _whole(path: Path, entry: Struct) -> Iterator[tuple[Any, ...]]:
    """The entries of a file; what is left over at its end is none, nor is what was allocated ahead."""
    data = path.read_bytes()
    usable = len(data) - len(data) % entry.size
    return (each for each in entry.iter_unpack(data[:usable]) if any(each))


def _offset_index(path: Path) -> Iterator[Row]:
    base = _base_offset(path)
    return ({"offset": base + offset, "position": position} for offset, position in _whole(path, _offset_entry))


def _time_index(path: Path) -> Iterator[Row]:
    base = _base_offset(path)
    return ({"timestamp": timestamp, "offset": base + offset} for timestamp, offset in _whole(path, _time_entry))


def _aborted_transactions(path: Path) -> Iterator[Row]:
    names = ("producer_id", "first_offset", "last_offset", "last_stable_offset")
    return (dict(zip(names, fields, strict=True)) for _, *fields in _whole(path, _transaction_entry))


def _producers(path: Path) -> Iterator[Row]:
    state = load_snapshot(path.parent, _base_offset(path))
    return (
        {
            "producer_id": entry.producer_id,
            "epoch": entry.epoch,
            "last_sequence": entry.last_sequence,
            "last_offset": entry.last_offset,
            "timestamp": entry.last_timestamp,
            "coordinator_epoch": entry.coordinator_epoch,
            "transaction_start": entry.transaction_start,
        }
        for entry in state.entries
    )


def _leader_epochs(path: Path) -> Iterator[Row]:
    epochs = LeaderEpochs(path.parent)
    epochs.load()
    return ({"epoch": each.epoch, "start_offset": each.start_offset} for each in epochs.entries)
