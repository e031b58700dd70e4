"""A large cluster on paper: what its metadata costs a controller and everybody who follows it. `python -m bench.scale`.

No server runs and nothing is sent: the decisions are those of the controller, over an Image of as many brokers and partitions as asked
for, and the bytes are those that it would append. Times are the process's own processor time, so another load does not count.
"""

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar
from uuid import NAMESPACE_OID, UUID, uuid5

from millstream_cluster import records as r
from millstream_cluster.answers.metadata import metadata
from millstream_cluster.decision import Decision
from millstream_cluster.features import SUPPORTED_RANGES
from millstream_cluster.image import Image
from millstream_cluster.metadata_version import NEWEST
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import Heartbeat, Registration, fence, heartbeat, register
from millstream_controller.core.partitions.isr_changes import Proposal, Proposals, alter_partitions
from millstream_controller.core.settings import Settings
from millstream_controller.core.takeover import NewCluster, take_over
from millstream_controller.core.topics.new_topics import NewTopic, create_topics
from millstream_controller.core.upkeep import Now, SoftState, keep_up
from millstream_controller.shell.batches import decode_records, encode_records, snapshot_batches
from millstream_wire.codec import encode
from millstream_wire.messages import MetadataRequest

T = TypeVar("T")

CLUSTER = "scale"
GONE_MS = 700_000
"""Longer than broker.replacement.timeout.ms."""


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    seconds: float
    records: int = 0
    wire_bytes: int = 0
    note: str = ""


class Paper:
    """A controller's machine without a store: decisions are applied, and encoded as they would be appended."""

    def __init__(self) -> None:
        self.machine = ControllerMachine(Settings(), Image())
        self.rows: list[Row] = []
        self._ids = 0

    def measure(self, what: str, work: Callable[[], Iterable[Decision[r.MetadataRecord, T]]], note: str = "") -> None:
        """Time the decisions and their application; what they weigh on the wire is not part of the time."""
        gc.collect()
        batches = []
        begun = time.process_time()
        for decision in work():
            self.take(decision)
            batches.append(decision.records)
        seconds = time.process_time() - begun
        records = sum(len(batch) for batch in batches)
        self.rows.append(Row(what, seconds, records, sum(map(_weight, batches)), note))

    def take(self, decision: Decision[r.MetadataRecord, T]) -> T:
        for record in decision.records:
            self.machine.apply(record)
        return decision.reply

    def new_id(self) -> UUID:
        self._ids += 1
        return uuid5(NAMESPACE_OID, str(self._ids))

    def enter(self, node_id: int, racks: int) -> None:
        """A broker comes and is let in."""
        endpoint = (r.Endpoint("PLAINTEXT", f"broker-{node_id}.brokers.svc", 9092),)
        wanted = Registration(
            node_id,
            CLUSTER,
            UUID(int=node_id + 1),
            endpoint,
            f"rack-{node_id % racks}",
            (UUID(int=node_id + 1),),
            SUPPORTED_RANGES,
        )
        epoch = self.take(register(self.machine, wanted, session_live=False)).broker_epoch
        self.take(heartbeat(self.machine, Heartbeat(node_id, epoch, self.machine.image.offset, False, False)))


def main() -> int:
    options = _options()
    paper = Paper()
    paper.take(
        take_over(paper.machine, 20_000, host="c", port=9093, cluster_id=CLUSTER, new_cluster=NewCluster(CLUSTER))
    )
    for node_id in range(options.brokers):
        paper.enter(node_id, options.racks)
    _create(paper, options.partitions // options.topics, options.topics, options.factor)
    _fail_over(paper, options.brokers)
    _keep(paper)
    _follow(paper)
    print(f"{options.brokers} brokers, {options.topics} topics, {_count(paper)} partitions, factor {options.factor}")
    print(f"{'':58} {'CPU s':>8} {'records':>9} {'on the wire':>12}")
    for row in paper.rows:
        size = f"{row.wire_bytes / 1e6:.2f} MB" if row.wire_bytes else ""
        print(f"{row.what:58} {row.seconds:8.3f} {row.records or '':>9} {size:>12}  {row.note}".rstrip())
    return 0


def _create(paper: Paper, partitions: int, topics: int, factor: int) -> None:
    def create(names: Iterable[str]) -> Iterable[Decision[r.MetadataRecord, object]]:
        for name in names:
            wanted = [NewTopic(name, partitions, factor)]
            yield create_topics(paper.machine, wanted, validate_only=False, new_id=paper.new_id)

    paper.measure(
        "placing and creating all topics but the last", lambda: create(f"topic-{n}" for n in range(topics - 1))
    )
    paper.measure("creating one more topic in the full cluster", lambda: create([f"topic-{topics - 1}"]))


def _fail_over(paper: Paper, brokers: int) -> None:
    """One broker falls silent, comes back, and its replicas join again; another one stays away."""
    victim = brokers // 2
    machine = paper.machine

    def silence(node_id: int) -> Iterable[Decision[r.MetadataRecord, None]]:
        while not machine.image.brokers[node_id].fenced:
            yield Decision(fence(machine, machine.image.brokers[node_id]), None)

    def back() -> Iterable[Decision[r.MetadataRecord, object]]:
        beat = Heartbeat(victim, machine.image.brokers[victim].epoch, machine.image.offset, False, False)
        yield heartbeat(machine, beat)

    def join() -> Iterable[Decision[r.MetadataRecord, object]]:
        by_leader: dict[int, list[Proposal]] = {}
        for p in machine.replicas_on(victim):
            isr = tuple((member, -1) for member in (*p.isr, victim))
            proposal = Proposal(p.topic_id, p.partition, p.leader_epoch, p.partition_epoch, isr)
            by_leader.setdefault(p.leader, []).append(proposal)
        for leader, proposals in by_leader.items():
            yield alter_partitions(machine, Proposals(leader, machine.image.brokers[leader].epoch, tuple(proposals)))

    paper.measure("a broker falls silent: others lead", lambda: silence(victim))
    paper.measure("it comes back", back)
    paper.measure("its replicas are in sync again, as their leaders propose", join)
    paper.measure("another one falls silent", lambda: silence(victim + 1))


def _keep(paper: Paper) -> None:
    """What time demands, of a cluster with one broker that is away for good."""
    machine = paper.machine
    soft = SoftState.new(machine.settings)
    for at_ms in (1, 20_000):
        for broker in machine.image.brokers.values():
            soft.sessions.heard(broker, at_ms)
        while paper.take(keep_up(machine, soft, Now(at_ms, at_ms))):
            pass
    for broker in machine.image.brokers.values():
        soft.sessions.heard(broker, GONE_MS)
    now = Now(GONE_MS, GONE_MS)
    paper.measure("beginning to make its replicas again, one decision", lambda: [keep_up(machine, soft, now)])
    paper.measure("preferred leaders lead again", lambda: [keep_up(machine, soft, now)])
    paper.measure("a look at what time demands when it demands nothing", lambda: [keep_up(machine, soft, now)])
    assert not paper.rows[-1].records


def _follow(paper: Paper) -> None:
    """What everybody else has of it: a snapshot, and an Image."""
    image = paper.machine.image
    begun = time.process_time()
    data = b"".join(snapshot_batches(image.records(), level=NEWEST, epoch=1, timestamp_ms=0))
    count = sum(1 for _ in image.records())
    paper.rows.append(Row("writing a snapshot", time.process_time() - begun, count, len(data)))
    begun = time.process_time()
    read = Image.of((record for _, record in decode_records(data)), image.offset)
    seconds = time.process_time() - begun
    note = _memory(lambda: Image.of((record for _, record in decode_records(data)), image.offset), _count(paper))
    paper.rows.append(Row("reading it: a start", seconds, count, len(data), note))
    begun = time.process_time()
    machine = ControllerMachine(Settings(), read)
    seconds = time.process_time() - begun
    assert machine.holdings == paper.machine.holdings
    note = _memory(lambda: ControllerMachine(Settings(), read), _count(paper))
    paper.rows.append(Row("a controller's indexes: a takeover", seconds, note=note))
    begun = time.process_time()
    told = encode(metadata(read, MetadataRequest(topics=None), 12, listener_name="PLAINTEXT"), 12)
    paper.rows.append(Row("telling a client of everything (Metadata)", time.process_time() - begun, 0, len(told)))


def _weight(records: tuple[r.MetadataRecord, ...]) -> int:
    if not records:
        return 0
    return len(encode_records(records, level=NEWEST, base_offset=0, epoch=1, timestamp_ms=0, writer="w"))


def _count(paper: Paper) -> int:
    return sum(1 for _ in paper.machine.image.partitions())


def _memory(make: Callable[[], object], partitions: int) -> str:
    """What is kept of what this makes."""
    gc.collect()
    tracemalloc.start()
    made = make()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del made
    return f"{kept / max(partitions, 1):.0f} bytes of memory a partition"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--brokers", type=int, default=200)
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--topics", type=int, default=1_000)
    parser.add_argument("--factor", type=int, default=3)
    parser.add_argument("--racks", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
