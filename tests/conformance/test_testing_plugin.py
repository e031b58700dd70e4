"""The plugin as other people's tests use it: hundreds of tests with a broker each, coroutines, workers; and nothing of it left afterwards."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import servers

TIMEOUT_S = 240
MANY = """
import pytest, socket, threading
from kafka import KafkaProducer

@pytest.mark.parametrize("number", range({count}))
def test_fresh(millstream, number):
    host, port = millstream.bootstrap_servers.split(":")
    assert millstream.groups() == {{}}
    millstream.produce("orders", str(number))
    assert millstream.values("orders") == [str(number).encode()]
    assert threading.active_count() == 1
"""
ASYNC = """
import asyncio, pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

def test_in_a_coroutine(millstream):
    asyncio.run(work(millstream))

async def work(millstream):
    await millstream.later.create_topic("orders")
    producer = AIOKafkaProducer(bootstrap_servers=millstream.bootstrap_servers)
    await producer.start()
    await producer.send_and_wait("orders", b"1")
    await producer.stop()
    consumer = AIOKafkaConsumer("orders", bootstrap_servers=millstream.bootstrap_servers, group_id="billing", auto_offset_reset="earliest")
    await consumer.start()
    reading = asyncio.create_task(consumer.getone())
    assert (await reading).value == b"1"
    committing = asyncio.create_task(consumer.commit())
    await millstream.later.wait_for_lag("billing", 0)
    await committing
    await consumer.stop()
"""
SHARED = """
import os

def test_one(millstream_session):
    topic = millstream_session.create_topic()
    millstream_session.produce(topic, "1")
    assert millstream_session.values(topic) == [b"1"]

def test_other(millstream_session, millstream_host):
    topic = millstream_session.create_topic()
    assert millstream_session.values(topic) == []
    print("host", millstream_host.pid)
"""
LOST = """
import os, signal

def test_that_kills_its_process(millstream):
    millstream.create_topic("orders")
    print("host", millstream._host.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def run_pytest(tmp_path: Path, code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Somebody else's project: nothing of ours but what is installed."""
    (tmp_path / "test_theirs.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-c", os.devnull, *arguments]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch)}
    return subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def processor_time_s() -> float:
    """Of all children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def expect_nothing_left(tmp_path: Path) -> None:
    assert list((tmp_path / "scratch").glob("millstream*")) == []
    found = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True, check=False)
    assert found.stdout == ""


def test_two_hundred_tests_with_a_broker_each_in_half_a_minute(tmp_path: Path) -> None:
    began_s, used_s = time.monotonic(), processor_time_s()
    done = run_pytest(tmp_path, MANY.format(count=200), "--durations=3")
    used_s = processor_time_s() - used_s
    print(f"200 tests: {time.monotonic() - began_s:.1f} s, {used_s:.1f} s of a processor\n{done.stdout[-600:]}")
    assert done.returncode == 0, done.stdout
    assert "200 passed" in done.stdout
    assert used_s < 30  # on a machine with something else to do they take longer than that
    expect_nothing_left(tmp_path)


def test_coroutines_and_a_shared_cluster(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, ASYNC + SHARED)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
    expect_nothing_left(tmp_path)


def test_every_worker_has_brokers_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    done = run_pytest(tmp_path, MANY.format(count=20), "-n", "2")
    assert done.returncode == 0, done.stdout
    assert "20 passed" in done.stdout
    expect_nothing_left(tmp_path)


def test_a_test_process_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, LOST)
    assert done.returncode == -signal.SIGKILL
    host = int(re.findall(r"host (\d+)", done.stdout)[0])

    def expect_gone() -> None:
        assert not Path(f"/proc/{host}").exists()
        expect_nothing_left(tmp_path)

    servers.eventually(expect_gone)


def test_without_pytest(tmp_path: Path) -> None:
    code = """
from millstream.testing import cluster
with cluster() as millstream:
    millstream.produce("orders", "1")
    print(millstream.values("orders"))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "[b'1']\n"), done.stderr
