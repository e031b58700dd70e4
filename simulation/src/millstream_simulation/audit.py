"""Follows what coordinators write, batch by batch, and holds it against what may be there; in the end, against what they hold.

Who may not write any more writes nothing; every record is a legal step from the one before; after every batch the state that
the log gives is sound. Replaying the log gives the state that the live coordinator has.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from millstream_cluster.ids import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from millstream_coordinator.app import CoordinatorApp
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import decode_record
from millstream_coordinator.core.transactions.machine import TransactionShard
from millstream_coordinator.core.transactions.record_format import decode_transaction_record
from millstream_simulation.client import KafkaClient, NotNow
from millstream_simulation.fetched import Fetched
from millstream_simulation.legal_steps import judge_group_record, judge_transaction_record
from millstream_simulation.stage import SETTLE_S, Stage
from millstream_simulation.story import Violation
from millstream_wire.records import BatchHeader, Record

LOOK_S = 0.25
FETCH_WAIT_MS = 3_000
GATHER_S = 0.5
"""So long after a batch was seen the next ones are left to come: every look costs as much as a request that the run is about."""
AWAY_S = 1.0


class PartitionAudit:
    """Of one shard's log.

    Compaction may take records out of it before they are read here; then what follows is no step from what was before. So
    the log is read anew from its start, as an owner loads it, and nothing is judged until all is read that had been
    written when a gap was found: a record that is gone was followed by another of its key, or by nothing of it at all.
    """

    def __init__(self, topic: str, partition: int) -> None:
        self.name = f"{topic}-{partition}"
        self.machine: GroupShard | TransactionShard
        self._judge: Callable[[Any, Any], None]
        self._decode: Callable[[bytes | None, bytes | None], Any]
        self._topic = topic
        if topic == OFFSETS_TOPIC:
            self._judge, self._decode = judge_group_record, decode_record
        else:
            self._judge, self._decode = judge_transaction_record, decode_transaction_record
        self._judged_from = 0
        """Before it records may be missing."""
        self._begin()

    def _begin(self) -> None:
        self.machine = GroupShard(GroupLimits()) if self._topic == OFFSETS_TOPIC else TransactionShard()
        self.position = 0
        """Of what is to be read next."""
        self._writer = (-1, -1)

    @property
    def is_judged(self) -> bool:
        return self.position >= self._judged_from

    def take(self, fetched: Fetched) -> bool:
        """False if there is a gap in it: the log has to be read anew."""
        for header, records in fetched.batches:
            if _misses_records(header, records, self.position):
                was_judged = self.is_judged
                self._judged_from = fetched.high_watermark
                if was_judged:
                    self._begin()
                    return False
            self._take(header, records)
            self.position = header.next_offset
        self.position = fetched.next_offset
        return True

    def _take(self, header: BatchHeader, records: Sequence[Record]) -> None:
        writer = header.producer_id, header.producer_epoch
        if writer < self._writer:
            raise Violation(f"{self.name}: {writer} wrote at {header.base_offset} after {self._writer} had taken over")
        self._writer = writer
        if header.is_control:
            return
        for record in records:
            decoded = self._decode(record.key, record.value)
            if decoded is not None:
                if self.is_judged:
                    self._judge(self.machine, decoded)
                self.machine.apply(decoded)
        if self.is_judged:
            _check(self.name, self.machine)


class Audit:
    """Of the logs of a run's coordinators, and of the coordinators themselves."""

    def __init__(self, stage: Stage, coordinators: Callable[[], Iterable[CoordinatorApp]]) -> None:
        self._stage = stage
        self._coordinators = coordinators
        self._parts: dict[str, PartitionAudit] = {}

    async def follow(self, partitions: Mapping[str, int]) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._look_at_coordinators())
            for topic in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC):
                for partition in range(partitions[topic]):
                    part = PartitionAudit(topic, partition)
                    self._parts[part.name] = part
                    tasks.create_task(
                        self._follow(part, self._stage.client(f"auditor-of-{part.name}", topic), partition)
                    )

    async def expect_live_states(self) -> None:
        """All is quiet: what a coordinator holds is what its log says."""
        try:
            async with asyncio.timeout(SETTLE_S):
                while True:
                    wrong = self._wrong()
                    if wrong is None:
                        break
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise Violation(f"replaying {wrong} gives another state than its coordinator has") from None
        self._stage.story.add("states checked")

    async def _follow(self, part: PartitionAudit, client: KafkaClient, partition: int) -> None:
        while True:
            try:
                fetched = await client.fetch(partition, part.position, max_wait_ms=FETCH_WAIT_MS)
            except NotNow:
                await asyncio.sleep(AWAY_S)
                continue
            if not part.take(fetched):
                self._stage.story.note("audit met a compacted log")
            elif fetched.batches:
                await asyncio.sleep(GATHER_S)

    async def _look_at_coordinators(self) -> None:
        while True:
            for coordinator in self._coordinators():
                for name, machine in coordinator.machines().items():
                    _check(name, machine)
            await asyncio.sleep(LOOK_S)

    def _wrong(self) -> str | None:
        for coordinator in self._coordinators():
            for name, machine in coordinator.machines().items():
                part = self._parts[name]
                if not part.is_judged or _state(machine) != _state(part.machine):
                    return name
        return None


def _misses_records(header: BatchHeader, records: Sequence[Record], position: int) -> bool:
    if header.base_offset > position:
        return True
    return not header.is_control and len(records) < header.last_offset - header.base_offset + 1


def _check(name: str, machine: Any) -> None:
    try:
        machine.check()
    except AssertionError as error:
        raise Violation(f"{name} is not sound: {_line(error)} {error}") from error


def _line(error: AssertionError) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}" if trace is not None else ""


def _state(machine: Any) -> Any:
    """The part that the log has."""
    if isinstance(machine, TransactionShard):
        return machine.transactions
    assert isinstance(machine, GroupShard)
    return machine.offsets, machine.stored, machine.consumers, machine.pending.offsets, machine.pending.producers
