"""`millstream consume` beside kcat: the same gigabyte printed, in the forms that both have."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from servers import Millstream
from topics import create

CONSUME_CASE = "consume: the command line beside kcat"
RECORDS, VALUE_BYTES = 1_000_000, 1024
TOPIC = "printed"
TIMEOUT_S = 600
LINE = r"%t-%p@%o %T %k %s\n"
FORMS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "values": (["--values"], []),
    f"--format '{LINE}'": (["--format", LINE], ["-f", LINE]),
    "lines as ours are, kcat's as above": ([], ["-f", LINE]),
    "JSON": (["--json"], ["-J"]),
}
"""What ours is told, and what kcat is."""


def measure_consume(
    directory: Path, before: Path | None, scale: float, rounds: int, say: Callable[[str], None]
) -> None:
    kcat = shutil.which("kcat")
    if kcat is None:
        say("kcat is not installed")
        return
    node = Millstream(directory)
    try:
        node.start()
        say(f"writing {RECORDS * scale:,.0f} records of {VALUE_BYTES} bytes")
        _fill(node.bootstrap, round(RECORDS * scale))
        reads = ["-b", node.bootstrap, "-C", "-t", TOPIC, "-o", "beginning", "-e", "-q"]
        programs = [Path(sys.executable).with_name("millstream"), *([before] if before else [])]
        for form, (ours, kcats) in FORMS.items():
            commands = {
                str(each): [str(each), "consume", TOPIC, "--bootstrap", node.bootstrap, *ours] for each in programs
            }
            commands["kcat"] = [kcat, *reads, *kcats]
            taken: dict[str, list[float]] = {name: [] for name in commands}
            for turn in range(rounds + 1):
                for name in commands if turn % 2 == 0 else reversed(commands):
                    seconds = _seconds(commands[name])
                    if turn:  # the first one is for the page cache
                        taken[name].append(seconds)
            least = median(taken["kcat"])
            print(f"{form}, {RECORDS * scale:,.0f} records of 1 KiB:")
            for name, seconds in taken.items():
                spread = f"({min(seconds):.2f}..{max(seconds):.2f})"
                print(
                    f"  {name}: {median(seconds):.2f} s {spread}, {least / median(seconds):.2f} of kcat's speed",
                    flush=True,
                )
    finally:
        node.stop()


def _seconds(command: list[str]) -> float:
    """Into a pipe, whose other end throws it away: what writes to no device knows that it need not."""
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        while os.read(running.stdout.fileno(), 1 << 20):
            pass
        if running.wait(TIMEOUT_S):
            raise RuntimeError(f"{command} failed")
    return time.monotonic() - started


def _fill(bootstrap: str, count: int) -> None:
    create(AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}), [NewTopic(TOPIC, 1, 1)])
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "queue.buffering.max.messages": 500_000})
    value = bytes(97 + i % 26 for i in range(VALUE_BYTES))
    for number in range(count):
        while True:
            try:
                producer.produce(TOPIC, value, key=f"{number:08}")
                break
            except BufferError:
                producer.poll(0.01)
    if producer.flush(TIMEOUT_S):
        raise RuntimeError("not all was written")
