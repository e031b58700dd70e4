"""`python -m millstream.testing.host FD DIRECTORY`: does what the test process asks for over a socket, and ends with it.

However the test process ends, the socket's end is seen here; nothing is left behind then.
"""

import gc
import logging
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

from millstream.testing.frames import receive, send
from millstream.testing.host.clusters import Clusters
from millstream_runtime.process import configure_logging

logger = logging.getLogger(__name__)


def main() -> None:
    fd, directory = int(sys.argv[1]), Path(sys.argv[2])
    configure_logging("WARNING")
    gc.freeze()
    clusters = Clusters(directory)
    with socket.socket(fileno=fd) as asking:
        while (asked := receive(asking)) is not None:
            send(asking, _answer(clusters, asked))
    shutil.rmtree(directory, ignore_errors=True)
    os._exit(0)  # whatever still runs has nobody left


def _answer(clusters: Clusters, asked: tuple[str, tuple[Any, ...], dict[str, Any]]) -> tuple[bool, Any]:
    name, arguments, more = asked
    try:
        return True, getattr(clusters, name)(*arguments, **more)
    except Exception as error:
        logger.info("refused what=%s", name, exc_info=error)
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return False, (isinstance(error, TimeoutError), " ".join(text.split()))


if __name__ == "__main__":
    main()
