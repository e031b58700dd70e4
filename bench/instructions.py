"""Instructions of a small Produce, counted by callgrind: `python bench/instructions.py [PYTHON ...]`.

The same number whatever else the machine does, unlike any time. Each PYTHON is the interpreter of a build (`../old/.venv/bin/python`);
without one, this one. Records of 100 B come one at a time with acks=1, so many that what the node does besides does not show.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "conformance")]

from cases import raw  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402
from topics import create  # noqa: E402

_START_TIMEOUT_S = 300  # callgrind is some fifty times slower
_SESSION_TIMEOUT_MS = 600_000  # nor may anybody take it for dead
_READY = re.compile(r"ready on (127\.0\.0\.1:\d+)")
_COUNTED = re.compile(r"^totals: (\d+)", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", default=[sys.executable], metavar="PYTHON")
    parser.add_argument("--requests", type=int, default=60_000)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep callgrind's files there, for callgrind_annotate")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millstream-instructions-") as scratch:
        client = Path(scratch) / "raw_client"
        subprocess.run(["cc", "-O2", "-o", str(client), str(HERE / "raw_client.c")], check=True)
        for number, python in enumerate(options.pythons):
            out = (options.keep or Path(scratch)) / f"callgrind.{number}"
            counted = _count(python, client, Path(scratch) / str(number), out, options.requests)
            print(f"{counted / options.requests:,.0f} instructions a request: {python}", flush=True)
    return 0


def _count(python: str, client: Path, directory: Path, out: Path, requests: int) -> int:
    """What the node executes while so many requests come."""
    directory.mkdir()
    callgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"]
    node = [python, "-m", "millstream.main", "node", "--port", "0", "--data", str(directory / "data")]
    node += ["--set", f"broker.session.timeout.ms={_SESSION_TIMEOUT_MS}"]
    with open(directory / "server.log", "w+") as log:
        process = subprocess.Popen([*callgrind, *node], stdout=log, stderr=log)
        try:
            bootstrap = _address_of(process, directory / "server.log")
            connection = {"bootstrap.servers": bootstrap, "log_level": 0}
            create(AdminClient(connection), [NewTopic("counted", 1, 1)])
            case = raw(client, "counted", window=1, requests=requests, records=1, value_size=100)
            case.run(connection, "counted", 0.05)
            subprocess.run(["callgrind_control", "-i", "on", str(process.pid)], stdout=log, check=True)
            case.run(connection, "counted", 1.0)
            subprocess.run(["callgrind_control", "-i", "off", str(process.pid)], stdout=log, check=True)
        finally:
            process.terminate()
            process.wait(_START_TIMEOUT_S)
    found = _COUNTED.search(out.read_text())
    assert found is not None, f"nothing was counted: {out}"
    return int(found[1])


def _address_of(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Where it takes connections, once it says so."""
    deadline = time.monotonic() + _START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        found = _READY.search(log.read_text())
        if found is not None:
            return found[1]
        time.sleep(0.1)
    raise RuntimeError(f"no answer: {log.read_text()[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
