"""How processes end when those around them are gone: at once, in order, and saying why."""

import os
import select
import signal
from pathlib import Path

import servers

END_TIMEOUT_MS = 60_000


def _ends(process: int) -> bool:
    """Whether the process of this file descriptor ends in time."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    return bool(poll.poll(END_TIMEOUT_MS))


def test_a_broker_without_controllers_and_a_cluster_without_its_parent_stop(fresh: Path) -> None:
    with servers.cluster(fresh) as cluster:
        opened = {name: os.pidfd_open(int(str(each["pid"]))) for name, each in cluster.processes().items()}
        try:
            for name in ("controller-1", "controller-2"):
                signal.pidfd_send_signal(opened[name], signal.SIGKILL)
                assert _ends(opened[name])
            signal.pidfd_send_signal(opened["broker-1"], signal.SIGTERM)
            assert _ends(opened["broker-1"])
            log = (fresh / "cluster" / "broker-1" / "stderr.log").read_text()
            assert "controlled shutdown gave up node=1 reason=no_controller_answers" in log
            assert "broker stopped broker=1" in log

            cluster.server.kill()
            assert {name for name, process in opened.items() if not _ends(process)} == set()
            log = (fresh / "cluster" / "broker-2" / "stderr.log").read_text()
            assert "shutdown begins signal=SIGTERM" in log
            assert "broker stopped broker=2" in log
        finally:
            for process in opened.values():
                os.close(process)
