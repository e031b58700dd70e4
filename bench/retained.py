"""What 20 GB of old records cost: produce and fetch beside an empty log, restarts, and reading the old ones from the disk."""

import ctypes
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from confluent_kafka.admin import AdminClient, NewTopic
from raw_reader import read
from servers import Millstream
from usage import usage_of
from wire_client import WireClient

from millstream_log import DataDir, LogConfig, TopicPartition
from millstream_wire.records import Record, encode_batch, parse_header

HERE = Path(__file__).resolve().parent
RETAINED_CASE = "retained: 20 GB of old records"
RETAINED_BYTES = 20e9
SEGMENT_BYTES = 64 << 20
COLD_BYTES = 1e9
BATCH_RECORDS, VALUE_BYTES = 63, 1024  # 64 KiB: as many index entries as there are batches
SMALL_REQUESTS, LARGE_REQUESTS = 20_000, 8_000
LARGE_RECORDS = 15
READ_PASSES = 1
SLICES = 8  # of a round: what fresh pages of the cache cost comes and goes within seconds, on both sides
ALONE_PRODUCES = 5_000
TOPIC, OTHER = "retained", "other"
SETTLE_S = 0.3
CLIENT_TIMEOUT_S = 3600
ONE = encode_batch([Record(-1, 1, None, b"x" * 100)])


def measure_retained(directory: Path, client: Path, scale: float, rounds: int, say: Callable[[str], None]) -> None:
    """Print each figure as it is known."""
    empty, full = Millstream(directory / "empty"), Millstream(directory / "retained")
    try:
        for node in (empty, full):
            node.start()
            _create(node)
        say(f"writing {RETAINED_BYTES * scale / 1e9:.1f} GB")
        full.stop()
        _fill(directory / "retained" / "data" / "broker", RETAINED_BYTES * scale)
        full.start()
        files = list((directory / "retained").rglob(f"{TOPIC}-0/*"))
        segments = [file for file in files if file.suffix == ".log"]
        index_bytes = sum(file.stat().st_size for file in files if file.suffix == ".index")
        held = sum(file.stat().st_blocks * 512 for file in segments)
        print(
            f"\n{held / 1e9:.1f} GB on the disk in {len(segments)} segments, {index_bytes / 1e6:.1f} MB of offset index"
        )
        _compare(client, empty, full, rounds, say)
        _restart(full, directory / "retained", say)
        _read_cold(full, directory / "retained", min(COLD_BYTES, RETAINED_BYTES * scale), say)
    finally:
        empty.stop()
        full.stop()


def _create(node: Millstream) -> None:
    admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0})
    config = {"segment.bytes": str(SEGMENT_BYTES), "retention.ms": "-1"}
    topics = [NewTopic(TOPIC, 1, 1, config=config), NewTopic(OTHER, 1, 1)]
    for future in admin.create_topics(topics).values():
        future.result(30)
    with WireClient(node.bootstrap) as client:
        for topic in (TOPIC, OTHER):
            while client.produce(topic, ONE).error_code:
                time.sleep(0.05)


def _fill(path: Path, size: float) -> None:
    """Append as the broker does, but in this process and with nobody to answer."""
    data = DataDir(path, node_id=0, cluster_id=None)
    config = LogConfig(segment_bytes=SEGMENT_BYTES)
    now_ms = int(time.time() * 1000)
    for key in data.partitions():
        data.open_log(key, data.topic_id(key), config, now_ms=now_ms)
    log = data.logs[TopicPartition(TOPIC, 0)]
    values = (os.urandom(VALUE_BYTES) for _ in range(BATCH_RECORDS))
    batch = bytearray(encode_batch([Record(-1, now_ms, None, value) for value in values]))
    header = parse_header(batch)
    for _ in range(round(size / len(batch))):
        log.append(batch, header, leader_epoch=0, now_ms=now_ms)
    data.close()


def _produce(client: Path, node: Millstream, window: int, requests: int, records: int, value_size: int) -> None:
    host, port = node.bootstrap.split(":")
    numbers = map(str, (window, requests, records, value_size))
    subprocess.run([client, host, port, TOPIC, *numbers], check=True, timeout=CLIENT_TIMEOUT_S, capture_output=True)


# ---- the cost of what is new ----


def _compare(client: Path, empty: Millstream, full: Millstream, rounds: int, say: Callable[[str], None]) -> None:
    """The same work on both, alternating; the topic that was empty keeps only what this adds."""

    def read_back(node: Millstream) -> None:
        count = LARGE_REQUESTS * LARGE_RECORDS
        with WireClient(node.bootstrap) as asking:
            end = asking.offset_at(TOPIC, -1)
        for _ in range(READ_PASSES):
            read(node.bootstrap, TOPIC, end - count, end)

    works: list[tuple[str, int, Callable[[Millstream], None]]] = [
        (
            "100 B, 1 in flight",
            SMALL_REQUESTS,
            lambda node: _produce(client, node, 1, SMALL_REQUESTS // SLICES, 1, 100),
        ),
        (
            "16 KB, 5 in flight",
            LARGE_REQUESTS,
            lambda node: _produce(client, node, 5, LARGE_REQUESTS // SLICES, LARGE_RECORDS, VALUE_BYTES),
        ),
        ("16 KB batches read back", LARGE_REQUESTS * READ_PASSES * SLICES, read_back),
    ]
    spent: dict[tuple[str, Millstream], list[float]] = {}
    for turn in range(-1, rounds):  # the first does not count
        for name, count, work in works:
            used = dict.fromkeys((empty, full), 0.0)
            for _ in range(SLICES):
                for node in (empty, full) if turn % 2 == 0 else (full, empty):
                    before = usage_of(node.pid).cpu_s
                    work(node)
                    time.sleep(SETTLE_S)
                    used[node] += usage_of(node.pid).cpu_s - before
            if turn >= 0:
                for node, cpu_s in used.items():
                    spent.setdefault((name, node), []).append(cpu_s / count * 1e6)
        say(f"retained: round {turn + 1} of {rounds}")
    for name, _, _ in works:
        alone, beside = spent[name, empty], spent[name, full]
        print(
            f"{name:28} {_spread(alone)} us of CPU each with an empty log, {_spread(beside)} with the full one: "
            f"{median(beside) / median(alone):.2f}x"
        )


def _spread(values: list[float]) -> str:
    return f"{median(values):.1f} ({min(values):.1f}..{max(values):.1f})"


# ---- restarts ----


def _restart(node: Millstream, directory: Path, say: Callable[[str], None]) -> None:
    for how, end in (("a clean stop", node.stop), ("a kill", node.kill)):
        say(f"retained: start after {how}")
        _flush(directory)  # how long that takes is the disk's, and no part of a stop
        resident_before = _resident_bytes(directory)
        stopping = time.monotonic()
        end()
        started = time.monotonic()
        node.start()
        with WireClient(node.bootstrap) as client:
            while client.produce(TOPIC, ONE).error_code:
                time.sleep(0.01)
        took = time.monotonic() - started
        io = dict(line.split(": ") for line in Path(f"/proc/{node.pid}/io").read_text().splitlines())
        print(
            f"after {how} ({started - stopping:.1f} s): {took:.2f} s to the first acknowledged record, "
            f"{int(io['rchar']) / 1e6:.1f} MB read, {int(io['read_bytes']) / 1e6:.1f} MB of them from the disk; of the log "
            f"{resident_before / 1e9:.1f} GB were in memory before and {_resident_bytes(directory) / 1e9:.1f} GB are after"
        )


def _resident_bytes(directory: Path) -> int:
    """How much of the topic's segments the page cache holds; asking loads nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    found = 0
    for path in directory.rglob(f"{TOPIC}-0/*.log"):
        size = path.stat().st_size
        if size == 0:
            continue
        with open(path, "rb") as file:
            mapped = mmap.mmap(file.fileno(), size, flags=mmap.MAP_PRIVATE)
        pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        first = ctypes.c_char.from_buffer(mapped)
        failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), pages)
        del first
        mapped.close()
        if failed:
            raise OSError(ctypes.get_errno(), "mincore")
        found += bytes(pages).count(1) * mmap.PAGESIZE
    return found


# ---- reading what the page cache has forgotten ----


def _read_cold(node: Millstream, directory: Path, size: float, say: Callable[[str], None]) -> None:
    say("retained: reading from the disk")
    _flush(directory, forget=True)
    with WireClient(node.bootstrap) as client:
        alone = [_produce_ms(client) for _ in range(ALONE_PRODUCES)]
        end = round(size / VALUE_BYTES)
        command = [sys.executable, str(HERE / "raw_reader.py"), node.bootstrap, TOPIC, "0", str(end)]
        before, started = _disk_read_bytes(node), time.monotonic()
        reader = subprocess.Popen(command)
        beside = []
        while reader.poll() is None:
            beside.append(_produce_ms(client))
        seconds = time.monotonic() - started
    if reader.returncode:
        raise RuntimeError("the cold reader failed")
    read = _disk_read_bytes(node) - before
    print(
        f"{read / 1e6:.0f} MB read from the disk in {seconds:.1f} s; beside it a produce of 100 B takes {_times(beside)}"
    )
    print(f"and before it {_times(alone)}")


def _flush(directory: Path, *, forget: bool = False) -> None:
    for path in directory.rglob(f"{TOPIC}-0/*"):
        descriptor = os.open(path, os.O_RDWR)
        os.fsync(descriptor)
        if forget:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def _produce_ms(client: WireClient) -> float:
    started = time.monotonic()
    if client.produce(OTHER, ONE).error_code:
        raise RuntimeError("a produce was refused")
    return (time.monotonic() - started) * 1000


def _times(took: list[float]) -> str:
    took = sorted(took)
    return f"p50 {median(took):.2f} ms, p99 {took[len(took) * 99 // 100]:.2f} ms, at most {took[-1]:.1f} ms"


def _disk_read_bytes(node: Millstream) -> int:
    io = dict(line.split(": ") for line in Path(f"/proc/{node.pid}/io").read_text().splitlines())
    return int(io["read_bytes"])
