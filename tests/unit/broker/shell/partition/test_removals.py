"""When deleted files go, in virtual time."""

import asyncio
import random
from pathlib import Path

import pytest

from millstream_broker.shell.partition.removals import Removals
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld


def test_each_goes_in_its_time_and_whatever_happens_to_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    late, soon, now = tmp_path / "late", tmp_path / "soon", tmp_path / "now"
    late.mkdir()
    (late / "00000000000000000000.log").write_bytes(b"x")
    soon.write_bytes(b"x")
    now.write_bytes(b"x")

    async def scenario() -> None:
        network = SimulatedNetwork(random.Random(1), Conditions())
        removals = Removals(SimulatedWorld(network, "broker", random.Random(2)))
        running = asyncio.create_task(removals.run())
        removals.add([late], 60_000)
        await asyncio.sleep(1)
        removals.add([soon, tmp_path / "gone already", now / "no directory"], 5_000)
        removals.add([now], 0)
        await asyncio.sleep(1)
        assert (late.exists(), soon.exists(), now.exists()) == (True, True, False)
        now.write_bytes(b"in the way")
        await asyncio.sleep(4.1)
        assert (late.exists(), soon.exists()) == (True, False)
        await asyncio.sleep(53)
        assert late.exists()
        await asyncio.sleep(1.1)
        assert not late.exists()
        running.cancel()
        await asyncio.wait([running])

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario())
    assert caplog.text.count("deleted files not removed") == 1
