"""What a broker knows of a log's producers, leader epochs and aborted transactions is what the log's own batches say."""

from contextlib import suppress

from millstream_broker.app import BrokerApp
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_log import Log, StorageError
from millstream_log.leader_epochs import EpochStart
from millstream_log.producer_state import ProducerEntry, ProducerState
from millstream_log.transaction_index import AbortedTransaction
from millstream_simulation.host import Host
from millstream_simulation.story import Violation
from millstream_wire.records import EndMarker, decode_batch, parse_header, split


class ReplayedLogs:
    """Looked at when a process has opened its logs, and in the end."""

    def __init__(self) -> None:
        self._opened: dict[str, HostedPartitions] = {}

    def look(self, host: Host) -> None:
        service = host.service
        if not isinstance(service, BrokerApp) or service.follower is None or service.partitions is None:
            return
        if self._opened.get(host.name) is not service.partitions:
            self._opened[host.name] = service.partitions
            self.judge(host)

    def judge(self, host: Host) -> None:
        service = host.service
        if isinstance(service, BrokerApp) and service.partitions is not None:
            for each in service.partitions:
                with suppress(OSError, StorageError):  # of a disk that cannot be read now
                    _judge(str(each.name), each.log)


def _judge(name: str, log: Log) -> None:
    replayed_log = _replayed(log)
    if replayed_log is None:
        return
    producers, epochs, aborted = replayed_log
    if epochs:
        _expect(name, "leader epochs", list(log.epochs), epochs)
    if log.log_start_offset == 0:
        _expect(name, "aborted transactions", log.aborted_transactions(0, log.log_end_offset), aborted)
    held = {entry.producer_id: _known(entry) for entry in log.producers}
    replayed = {entry.producer_id: _known(entry) for entry in producers.entries}
    for producer_id, known in replayed.items():
        if log.log_start_offset == 0 or known[3] == -1:
            _expect(name, f"producer {producer_id}", held.get(producer_id), known)


def _replayed(log: Log) -> tuple[ProducerState, list[EpochStart], list[AbortedTransaction]] | None:
    """None for a log that has been compacted: what its batches said may be gone."""
    producers, epochs, aborted = ProducerState(), list[EpochStart](), list[AbortedTransaction]()
    offset = log.log_start_offset
    while (read := log.read(offset, 1 << 20)) is not None:
        for batch in split(read.slice.read()):
            header = parse_header(batch)
            if header.base_offset > offset:
                return None
            offset = header.next_offset
            if not epochs or header.leader_epoch > epochs[-1].epoch:
                epochs.append(EpochStart(header.leader_epoch, max(header.base_offset, int(log.log_start_offset))))
            if not header.is_control:
                if header.producer_id >= 0:
                    producers.update(header, header.base_offset, timestamp=header.max_timestamp, now_ms=0)
                continue
            for record in decode_batch(batch, header):
                marker = EndMarker.decode(record)
                ended = producers.end_transaction(header, marker, now_ms=0) if marker is not None else None
                aborted += [ended] if ended is not None else []
        read.slice.release()
    return producers, epochs, aborted


def _known(entry: ProducerEntry) -> tuple[int, int, int, int, int]:
    return (
        int(entry.epoch),
        int(entry.last_sequence),
        int(entry.last_offset),
        int(entry.transaction_start),
        int(entry.coordinator_epoch),
    )


def _expect(name: str, what: str, held: object, replayed: object) -> None:
    if held != replayed:
        raise Violation(f"{what} of {name}: {held} is known, its batches say {replayed}")
